internal import CredentialVault
internal import Foundation

/// What a program answered instead of OK, or that it does not speak the protocol.
struct AssuanError: Error {
    /// The error of libgpg-error, without its source; 0 when there was no answer.
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
    /// For how long anything but a person is waited for, in seconds.
    private static let patience = 30

    let descriptor: Int32

    /// Waits for the first line.
    @discardableResult
    func greet() throws -> AssuanConnection {
        wait(atMost: Self.patience)
        _ = try answer()
        return self
    }

    /// Sends what the program need not know: its refusal is passed over.
    ///
    /// - Returns: its answer, for a command that has one; nil when it refused.
    @discardableResult
    func set(_ command: String, _ argument: String) throws -> String? {
        wait(atMost: Self.patience)
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

    /// Bounds each read; 0 is without end.
    private func wait(atMost seconds: Int) {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    private func send(_ line: [UInt8]) -> Bool {
        Foundation.write(descriptor, line, line.count) == line.count
    }

    /// The data of an answer, of which each line is in guarded memory from the first byte on.
    private func answer() throws -> SecretBox {
        var parts: [SharedSecret] = []
        for _ in 0..<Self.lineLimit {
            // What is too long, cut off or too late is no answer.
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
