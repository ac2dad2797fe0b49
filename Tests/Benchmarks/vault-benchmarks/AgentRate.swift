internal import Foundation
internal import VaultAgentProtocol

/// Requests for a token over one socket of the agent, and over the same kind of socket to a bare echo. The echo runs in
/// a separate process, as the agent does. The same client sends the same bytes to both.
struct AgentRate {
    private static let requests = 2000

    /// Prints the seconds of each round as JSON.
    ///
    /// - Parameter path: the agent's socket.
    static func run(path: String, rounds: Int) throws {
        let request = AgentRequest.quickToken(user: "", minimumSeconds: 60).bytes
        let echoPath = FileManager.default.temporaryDirectory.path() + "/echo-\(getpid()).sock"
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard AgentSocket.withAddress(echoPath, { bind(listener, $0, $1) }) == 0, listen(listener, 1) == 0 else {
            throw AgentProtocolError.unreachable
        }
        defer { unlink(echoPath) }
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = ["echo"]
        process.standardInput = FileHandle(fileDescriptor: listener)
        try process.run()
        defer { process.terminate() }
        let (agent, bare) = (try connected(path), try connected(echoPath))
        var times = Times()
        for _ in 0..<rounds {
            times.add(["token": try time(agent, request), "echo": try time(bare, request)])
        }
        print(String(decoding: try JSONEncoder().encode(times.all), as: UTF8.self))
    }

    private static func connected(_ path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard AgentSocket.withAddress(path, { connect(descriptor, $0, $1) }) == 0 else {
            throw AgentProtocolError.unreachable
        }
        return descriptor
    }

    /// Serves the first client of the listening socket on standard input.
    static func echo() {
        let descriptor = accept(0, nil, nil)
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 {
            guard write(descriptor, buffer, count) == count else { return }
        }
    }

    private static func time(_ descriptor: Int32, _ request: [UInt8]) throws -> Duration {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        return try ContinuousClock().measure {
            for _ in 0..<requests {
                // An answer of this size comes in one piece.
                guard write(descriptor, request, request.count) == request.count,
                    read(descriptor, &buffer, buffer.count) > 6
                else { throw AgentProtocolError.unreachable }
            }
        }
    }
}
