import Foundation
import NIOPosix
import Testing

/// The program vault-dev, run as a person runs it.
final class VaultDevProcess {
    private let process = Process()
    private let output = Pipe()
    private let errors = Pipe()
    private let ended: AsyncStream<Void>

    /// The programs are built into the same folder as the tests.
    static var program: URL {
        get throws {
            let folder = try #require(URL(string: "file:///proc/self/exe")?.resolvingSymlinksInPath())
            return folder.deletingLastPathComponent().appending(path: "vault-dev")
        }
    }

    /// - Parameter temporary: the folder of temporary files for the program.
    init(_ arguments: [String], temporary: String) throws {
        let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
        self.ended = ended
        process.executableURL = try Self.program
        process.arguments = arguments
        // From this process's environment, only the variables for sanitizers.
        process.environment = ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
            .merging(["TMPDIR": temporary, "PATH": "/usr/bin:/bin"]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        process.terminationHandler = { _ in continuation.finish() }
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// The lines of the environment, as a shell would read them.
    func environment(lines: Int = 3) async throws -> [String: String] {
        let handle = output.fileHandleForReading
        let text = try await NIOThreadPool.singleton.runIfActive {
            var data = Data()
            while data.count(where: { $0 == UInt8(ascii: "\n") }) < lines {
                let more = handle.availableData
                if more.isEmpty { break }
                data += more
            }
            return String(decoding: data, as: UTF8.self)
        }
        var result: [String: String] = [:]
        for line in text.split(separator: "\n") {
            let match = try #require(line.wholeMatch(of: /export ([A-Z_]+)='([^']*)'/), "\(line)")
            result[String(match.1)] = String(match.2)
        }
        return result
    }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for the end. Returns the rest of stdout and stderr, and the way it ended.
    func end() async -> (status: Int32, output: String, errors: String) {
        for await _ in ended {}
        let output = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        let errors = (try? errors.fileHandleForReading.readToEnd()) ?? Data()
        return (
            process.terminationStatus, String(decoding: output, as: UTF8.self), String(decoding: errors, as: UTF8.self)
        )
    }
}
