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
    guard let number = writeAll(text.utf8, to: STDOUT_FILENO), number != EPIPE else { return }
    writeToStandardError("vault-dev: The output could not be written: \(SystemError.words(number)).\n")
    throw ExitCode(74)
}

/// Writes explanations.
func writeToStandardError(_ text: String) { _ = writeAll(text.utf8, to: STDERR_FILENO) }

/// Lets a write to a closed pipe fail instead of ending the process, which would leave its folder behind.
func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }
