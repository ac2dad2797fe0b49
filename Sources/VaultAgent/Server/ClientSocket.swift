internal import CLinux
internal import Glibc
internal import VaultAgentProtocol

/// One client of the agent. Only the server's thread uses it.
final class ClientSocket {
    enum Phase {
        /// It may send a request.
        case listening
        /// A request is under way. The next one is read when it is answered.
        case working
        /// It is told what happens.
        case watching(AgentAccount?)
    }

    /// What reading or writing came to.
    enum Outcome {
        case fine
        case over
    }

    let descriptor: Int32
    let number: UInt64
    let process: Int32
    var phase = Phase.listening
    /// When it sent or took something last, in the order of such events.
    var lastTurn: UInt64 = 0
    /// The events that epoll(7) tells of.
    var awaited: UInt32 = 0
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    private var sent = 0
    /// What a client that does not read may leave waiting.
    private static let longestOutput = 4 * 1024 * 1024

    /// - Parameter descriptor: does not wait. It is closed with this object.
    init(descriptor: Int32, number: UInt64, process: Int32) {
        self.descriptor = descriptor
        self.number = number
        self.process = process
    }

    deinit {
        AgentConnection.wipe(&input)
        AgentConnection.wipe(&output)
        close(descriptor)
    }

    var wantsToWrite: Bool { sent < output.count }

    /// Reads what is there.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        // Once: a client that sends without an end must not keep the others waiting.
        let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        if count < 0 { return errno == EAGAIN || errno == EINTR ? .fine : .over }
        guard count > 0 else { return .over }
        input.append(contentsOf: buffer[..<count])
        if let base = buffer.baseAddress { explicit_bzero(base, count) }
        return .fine
    }

    /// Takes the next request out of what was read; nil when it is not complete.
    func nextRequest() throws(AgentProtocolError) -> AgentRequest? {
        guard let range = try MessageFrame.first(in: input[...], limit: MessageFrame.longestRequest) else { return nil }
        var used: [UInt8] = []
        swap(&used, &input)
        if range.endIndex < used.endIndex { input = Array(used[range.endIndex...]) }
        defer { AgentConnection.wipe(&used) }
        return try AgentRequest(used[range])
    }

    /// Queues a message and sends what can be sent.
    func send(_ answer: AgentAnswer) -> Outcome {
        guard output.count - sent < Self.longestOutput else { return .over }
        if sent == output.count {
            AgentConnection.wipe(&output)
            output.removeAll(keepingCapacity: false)
            sent = 0
        }
        if output.isEmpty { output = answer.bytes } else { output.append(contentsOf: answer.bytes) }
        return flush()
    }

    func flush() -> Outcome {
        while sent < output.count {
            let count = output.withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent,
                    Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                return errno == EAGAIN ? .fine : .over
            }
            sent += count
        }
        AgentConnection.wipe(&output)
        output.removeAll(keepingCapacity: false)
        sent = 0
        return .fine
    }
}
