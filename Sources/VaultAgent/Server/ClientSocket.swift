internal import Glibc
internal import VaultAgentProtocol

/// One client of the agent. Only the server's thread uses it.
final class ClientSocket {
    enum Phase {
        /// The client may send a request.
        case listening
        /// A request is under way. The next one is read after its answer.
        case working
        /// The client gets the events of a session.
        case watching(AgentAccount?)
    }

    /// The result of reading or writing.
    enum Outcome {
        case fine
        /// No bytes are there now.
        case nothing
        case over
    }

    let descriptor: Int32
    let number: UInt64
    let process: Int32
    var phase = Phase.listening
    /// Whether the client sends nothing more. Requests that it sent before are still carried out.
    var hasLeft = false
    /// The turn in which the client last sent or received something.
    var lastTurn: UInt64 = 0
    /// The epoll(7) events that the server waits for.
    var awaited: UInt32 = 0
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    private var sent = 0
    /// The most bytes that may wait for a client that does not read.
    private static let longestOutput = 4 * 1024 * 1024

    /// - Parameter descriptor: a non-blocking socket. It is closed with this object.
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

    /// Reads the bytes that are there.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        // Only once: a client that sends without end must not delay the others.
        let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        if count < 0 { return errno == EAGAIN || errno == EINTR ? .nothing : .over }
        guard count > 0 else { return .over }
        input.append(contentsOf: buffer[..<count])
        if let base = buffer.baseAddress { explicit_bzero(base, count) }
        return .fine
    }

    /// Returns the next request from the bytes that were read; nil if it is not complete.
    func nextRequest() throws(AgentProtocolError) -> AgentRequest? {
        guard let range = try MessageFrame.first(in: input[...], limit: MessageFrame.longestRequest) else { return nil }
        var used: [UInt8] = []
        swap(&used, &input)
        if range.endIndex < used.endIndex { input = Array(used[range.endIndex...]) }
        defer { AgentConnection.wipe(&used) }
        return try AgentRequest(used[range])
    }

    /// Queues a message and sends as much as possible.
    func send(_ answer: AgentAnswer) -> Outcome {
        guard output.count - sent < Self.longestOutput else { return .over }
        if sent == output.count {
            AgentConnection.wipe(&output)
            output.removeAll(keepingCapacity: false)
            sent = 0
        }
        // A client that never reads all of it must not make the agent keep what was sent.
        if sent > 64 * 1024, sent * 2 > output.count {
            var old = Array(output[sent...])
            swap(&old, &output)
            AgentConnection.wipe(&old)
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
