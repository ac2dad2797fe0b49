internal import Glibc

/// A client's connection to the agent. Its calls block, so call them on a thread that may block.
///
/// Only one thread at a time may use it, except for ``interrupt()``.
package final class AgentConnection: @unchecked Sendable {
    // Sound: only `received` changes, in calls that belong to one thread at a time. shutdown(2) may come from any thread.
    private let descriptor: Int32
    private var received: [UInt8] = []

    /// Connects to an agent of the same user.
    ///
    /// - Parameters:
    ///   - path: the result of ``AgentSocket/path(runtimeFolder:accountsFolder:)``.
    ///   - timeout: the longest wait for each answer, in seconds; nil for no limit.
    /// - Throws: ``AgentProtocolError``: `unreachable` only if no agent listens, `timedOut`, `notOurs`.
    package init(path: String, timeout: Int?) throws(AgentProtocolError) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .timedOut }
        self.descriptor = descriptor
        if let timeout { setLimit(timeout) }
        let failure: Int32? = AgentSocket.withAddress(path) { address, size in
            while connect(descriptor, address, size) < 0 {
                if errno != EINTR { return errno }
            }
            return 0
        }
        switch failure {
        case 0: break
        case nil, ENOENT, ECONNREFUSED: throw .unreachable
        // An agent that hangs may still hold sessions, so it must not count as ended.
        default: throw .timedOut
        }
        guard PeerCredentials(of: descriptor)?.user == geteuid() else { throw .notOurs }
    }

    deinit { close(descriptor) }

    /// From now on, each call waits for the agent for as long as it takes.
    package func waitWithoutLimit() { setLimit(0) }

    /// - Parameter seconds: 0 for no limit, as in socket(7).
    private func setLimit(_ seconds: Int) {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    }

    /// Ends a blocked call. May be called from another thread.
    package func interrupt() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Sends a request and waits for its answer.
    package func ask(_ request: AgentRequest) throws(AgentProtocolError) -> AgentAnswer {
        try send(request)
        return try next()
    }

    package func send(_ request: AgentRequest) throws(AgentProtocolError) {
        var bytes = request.bytes
        defer { Self.wipe(&bytes) }
        guard bytes.count - MessageFrame.lengthSize <= MessageFrame.longestRequest else { throw .tooLong }
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { throw .timedOut }
            guard count > 0 else { throw .ended }
            sent += count
        }
    }

    /// Waits for the next message of the agent.
    package func next() throws(AgentProtocolError) -> AgentAnswer {
        while true {
            if let range = try MessageFrame.first(in: received[...], limit: MessageFrame.longestAnswer) {
                let answer = try AgentAnswer(received[range])
                var rest = Array(received[range.endIndex...])
                swap(&rest, &received)
                Self.wipe(&rest)
                return answer
            }
            try receive()
        }
    }

    private func receive() throws(AgentProtocolError) {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        defer { Self.wipe(&buffer) }
        while true {
            let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { throw .timedOut }
            guard count > 0 else { throw .ended }
            received.append(contentsOf: buffer[..<count])
            return
        }
    }

    /// Overwrites the bytes of a message. Copies that the compiler made cannot be reached.
    package static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            explicit_bzero(base, buffer.count)
        }
    }
}
