import Foundation
import Testing

/// The test's own message bus, with a logind on it. See `mock_logind.py`.
final class MockLogind: @unchecked Sendable {
    // Sound because only one test uses `Process` and the iterator, and it does one step after the other.
    private let process = Process()
    private let input = Pipe()
    private var answers: AsyncStream<String>.Iterator
    private let folder: URL
    /// The address of the bus.
    let address: String

    /// Starts neither the bus nor logind yet.
    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        address = "unix:path=\(folder.path)/bus"
        let output = Pipe()
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        answers = lines.makeAsyncIterator()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [
            "-B", URL(filePath: #filePath).deletingLastPathComponent().appending(path: "mock_logind.py").path,
            folder.path,
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let handle = output.fileHandleForReading
        Thread.detachNewThread { @Sendable in
            var text = ""
            while case let data = handle.availableData, !data.isEmpty {
                text += String(decoding: data, as: UTF8.self)
                while let end = text.firstIndex(of: "\n") {
                    continuation.yield(String(text[..<end]))
                    text.removeSubrange(...end)
                }
            }
            continuation.finish()
        }
    }

    deinit {
        // The mock ends with its input, and ends all processes that it started.
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    /// A bus with logind and the sessions c1 and c2.
    static func started() async throws -> MockLogind {
        let mock = try MockLogind()
        for command in ["start_bus", "start_logind", "add_session c1", "add_session c2"] {
            try await mock.run(command)
        }
        return mock
    }

    /// Runs a command, and returns its answer.
    @discardableResult
    func run(_ command: String) async throws -> String {
        try input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
        let answer = try #require(await answers.next(isolation: nil), "\(command)")
        try #require(answer.hasPrefix("done"), "\(command): \(answer)")
        return answer.dropFirst(4).trimmingCharacters(in: .whitespaces)
    }
}
