internal import CredentialVault
internal import Foundation

/// An error that a program answered, or a violation of the protocol.
struct AssuanError: Error {
    /// The error code of libgpg-error, without its source; 0 if there was no answer.
    let code: Int
    let description: String

    /// Whether the person closed the window, said no, or let the time run out.
    var isRefusal: Bool { [62, 99, 114, 198].contains(code) }

    static let silence = AssuanError(code: 0, description: "it does not answer as pinentry does.")
}

/// One end of the Assuan protocol (libassuan, "Client requests" and "Server responses"). Its calls block.
struct AssuanConnection {
    /// How many lines may come before an answer: comments, status lines and parts of the secret.
    private static let lineLimit = 1000
    /// The longest wait for an answer that needs no person, in seconds.
    private static let timeout = 30

    let descriptor: Int32

    /// Waits for the first line.
    @discardableResult
    func greet() throws -> AssuanConnection {
        wait(atMost: Self.timeout)
        _ = try answer()
        return self
    }

    /// Sends a command that the program may refuse.
    ///
    /// - Returns: the answer, if the command has one; nil if the program refused.
    @discardableResult
    func set(_ command: String, _ argument: String) throws -> String? {
        wait(atMost: Self.timeout)
        guard send(AssuanText.line(command, argument)) else { throw AssuanError.silence }
        do { return try answer().take().utf8String() } catch let error as AssuanError where error.code != 0 {
            return nil
        }
    }

    /// Sends a command, and waits for the person.
    func ask(_ command: String) throws -> SecretBytes {
        wait(atMost: 0)
        guard send(AssuanText.line(command, "")) else { throw AssuanError.silence }
        return try answer().take()
    }

    /// Sets the time limit of each read; 0 means no limit.
    private func wait(atMost seconds: Int) {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    private func send(_ line: [UInt8]) -> Bool {
        Foundation.write(descriptor, line, line.count) == line.count
    }

    /// Reads the data of an answer, each line directly into guarded memory.
    private func answer() throws -> SecretBox {
        var parts: [SharedSecret] = []
        for _ in 0..<Self.lineLimit {
            // A line that is too long, cut off or too late is not an answer.
            guard let box = try? SecretReader.line(from: descriptor) else { throw AssuanError.silence }
            let line = try SharedSecret(box.take())
            switch try AssuanText.kind(of: line.bytes) {
            case .ok: return try AssuanText.joined(parts)
            case .error(let error): throw error
            case .data: parts.append(try AssuanText.data(of: line.bytes))
            case .inquiry: guard send(AssuanText.line("END", "")) else { throw AssuanError.silence }
            case .remark: continue
            }
            guard parts.reduce(0, { $0 + $1.bytes.count }) <= SecretReader.limit else { throw AssuanError.silence }
        }
        throw AssuanError.silence
    }
}
