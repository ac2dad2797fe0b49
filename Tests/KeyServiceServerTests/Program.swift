import Foundation
import HummingbirdTesting
import NIOCore
import Testing

/// The program `vault-key-service`, as built beside the tests.
final class Program: @unchecked Sendable {
    // Sound because only the test that made the value uses `Process`. The lock guards its output.
    private let process = Process()
    private let output: AsyncStream<String>
    private let ended: AsyncStream<Int32>

    struct Result {
        let output: String
        let errors: String
        let exitCode: Int32
    }

    /// The folder of the running test executable.
    private static var productFolder: URL {
        get throws {
            let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(fileURLWithPath: path).deletingLastPathComponent()
        }
    }

    private init(_ arguments: [String], environment: [String: String], errors: URL) throws {
        process.executableURL = try Self.productFolder.appendingPathComponent("vault-key-service")
        process.arguments = arguments
        // From this process's environment, only the variables for sanitizers.
        process.environment = ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }.merging(
            environment
        ) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        try Data().write(to: errors)
        process.standardError = try FileHandle(forWritingTo: errors)
        let (output, outputEnd) = AsyncStream.makeStream(of: String.self)
        let (ended, endedEnd) = AsyncStream.makeStream(of: Int32.self)
        (self.output, self.ended) = (output, ended)
        process.terminationHandler = { @Sendable process in
            let isSignal = process.terminationReason == .uncaughtSignal
            endedEnd.yield(isSignal ? -process.terminationStatus : process.terminationStatus)
            endedEnd.finish()
        }
        try process.run()
        let reader = pipe.fileHandleForReading
        Thread.detachNewThread { @Sendable in
            while case let data = reader.availableData, !data.isEmpty {
                outputEnd.yield(String(decoding: data, as: UTF8.self))
            }
            outputEnd.finish()
        }
    }

    /// Runs the program to its end.
    static func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> Result {
        try await run(arguments: arguments, environment: environment)
    }

    static func run(arguments: [String], environment: [String: String] = [:]) async throws -> Result {
        let folder = try TemporaryFolder()
        let errors = URL(fileURLWithPath: folder.path + "/errors")
        let program = try Program(arguments, environment: environment, errors: errors)
        let output = await program.output.reduce("", +)
        let exitCode = await program.waitForEnd()
        let text = String(decoding: try Data(contentsOf: errors), as: UTF8.self)
        return Result(output: output, errors: text, exitCode: exitCode)
    }

    /// A server that runs until ``stop(_:)`` is called or until it ends by itself.
    struct Server: Sendable {
        let program: Program
        let baseURL: String
        let port: Int
        let basePath: String
        private let folder: TemporaryFolder

        init(_ arguments: [String], environment: [String: String] = [:]) async throws {
            folder = try TemporaryFolder()
            let errors = URL(fileURLWithPath: folder.path + "/errors")
            program = try Program(["serve"] + arguments, environment: environment, errors: errors)
            var text = ""
            for await part in program.output {
                text += part
                if text.hasSuffix("\n") { break }
            }
            let complaint = String(decoding: try Data(contentsOf: errors), as: UTF8.self)
            let match = try #require(
                text.firstMatch(of: /Listening on (http:\/\/127\.0\.0\.1:([0-9]+)(.*))\n/), "\(complaint)")
            baseURL = String(match.1)
            port = try #require(Int(match.2))
            basePath = String(match.3)
        }

        /// The server's log: its output on standard error so far.
        var errors: String { (try? String(contentsOfFile: folder.path + "/errors", encoding: .utf8)) ?? "" }

        /// Sends the program a signal, and returns its exit code, or minus the signal that ended it.
        func stop(_ signal: Int32 = SIGTERM) async -> Int32 {
            if program.process.isRunning { kill(program.process.processIdentifier, signal) }
            return await program.waitForEnd()
        }

        /// Talks to the server over one connection.
        func connect<R: Sendable>(_ body: @escaping @Sendable (Client) async throws -> R) async throws -> R {
            try await TestClient.withClient(host: "127.0.0.1", port: port) { client in
                try await body(
                    Client { path, method, headers, content in
                        let reply = try await client.execute(
                            TestClient.Request(
                                basePath + path, method: method, authority: "127.0.0.1", headers: headers,
                                body: content))
                        return Reply(status: reply.status, headers: reply.headers, body: reply.body)
                    })
            }
        }
    }

    func waitForEnd() async -> Int32 {
        for await exitCode in ended { return exitCode }
        return .min
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }
}
