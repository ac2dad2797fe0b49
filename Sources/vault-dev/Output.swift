internal import ArgumentParser
internal import VaultBase

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Writes results. The program goes on if the reader has gone.
///
/// - Throws: `ExitCode`, after a word on standard error, if they cannot be written.
func writeToStandardOutput(_ text: String) throws {
    guard let number = writeAll(text, to: STDOUT_FILENO), number != EPIPE else { return }
    writeToStandardError("vault-dev: The output could not be written: \(SystemError.words(number)).\n")
    throw ExitCode(74)
}

/// Writes explanations.
func writeToStandardError(_ text: String) { _ = writeAll(text, to: STDERR_FILENO) }

/// Lets a write to a closed pipe fail instead of ending the process, which would leave its folder behind.
func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

/// - Returns: the error number; nil if everything was written.
private func writeAll(_ text: String, to descriptor: Int32) -> Int32? {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return errno }
        rest = rest.dropFirst(count)
    }
    return nil
}
