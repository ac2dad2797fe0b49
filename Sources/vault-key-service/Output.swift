internal import ArgumentParser
internal import Foundation
internal import VaultBase

/// Results go to standard output, everything else to standard error.
enum Output {
    /// The error number of the first result that could not be written; nil if there was none.
    private static let failure = Lock<Int32?>(nil)

    static func result(_ line: String) { put(line + "\n") }

    /// Writes a part of a long result.
    ///
    /// - Throws: as ``requireWritten()``.
    static func part(_ text: String) throws {
        put(text)
        try requireWritten()
    }

    /// - Throws: ``Failure`` if a result could not be written. `ExitCode` if its reader has gone, which has what it
    ///   wanted: then the program ends without a word.
    static func requireWritten() throws {
        guard let number = failure.withLock({ $0 }) else { return }
        throw number == EPIPE ? ExitCode.success : Failure.unwritten(number)
    }

    /// Writes a line of a service. If nobody can read it, the service says so and goes on.
    static func announce(_ line: String) {
        guard let number = write(line + "\n", to: STDOUT_FILENO), number != EPIPE else { return }
        error(Failure.unwritten(number).message)
    }

    static func error(_ line: String) {
        write("vault-key-service: " + line + "\n", to: STDERR_FILENO, timeout: 2000)
    }

    /// Writes an error about the command line, which may have several lines.
    static func usage(_ text: String) { write(text + "\n", to: STDERR_FILENO, timeout: 2000) }

    private static func put(_ text: String) {
        guard let number = write(text, to: STDOUT_FILENO) else { return }
        failure.withLock { $0 = $0 ?? number }
    }

    /// Writes everything, or gives up after an error. `FileHandle` would trap.
    ///
    /// - Parameter timeout: the longest wait for a reader, in milliseconds; -1 for no limit.
    /// - Returns: the error number; nil if everything was written.
    @discardableResult
    private static func write(_ text: String, to descriptor: Int32, timeout: Int32 = -1) -> Int32? {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&ready, 1, timeout) != 0 else { return EAGAIN }
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return errno }
            bytes = bytes.dropFirst(count)
        }
        return nil
    }
}
