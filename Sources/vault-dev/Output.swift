#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Writes results. The program goes on if the reader has gone.
func writeToStandardOutput(_ text: String) { writeAll(text, to: STDOUT_FILENO) }

/// Writes explanations.
func writeToStandardError(_ text: String) { writeAll(text, to: STDERR_FILENO) }

/// Lets a write to a closed pipe fail instead of ending the process, which would leave its folder behind.
func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

private func writeAll(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
    }
}
