internal import Foundation
internal import Testing

/// A test's own message bus, with a service on it. A Python script runs both: it takes a command on each line of its
/// input, and answers with `done` when the command is done.
package final class ScriptedBus: @unchecked Sendable {
    // Sound because only one test uses `Process` and the iterator, and it does one step after the other.
    private let process = Process()
    private let input = Pipe()
    private var answers: AsyncStream<String>.Iterator
    private let folder: URL
    /// The address of the bus.
    package let address: String

    /// Starts the script. The bus does not run yet.
    ///
    /// - Parameter script: the path of the script. It gets the folder of the bus as its argument.
    package init(_ script: String) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        address = "unix:path=\(folder.path)/bus"
        let output = Pipe()
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        answers = lines.makeAsyncIterator()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-B", script, folder.path]
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
        // The script ends with its input, and ends all processes that it started.
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Runs a command, and returns its answer.
    @discardableResult
    package func run(_ command: String) async throws -> String {
        try input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
        let answer = try #require(await answers.next(isolation: nil), "\(command)")
        try #require(answer.hasPrefix("done"), "\(command): \(answer)")
        return answer.dropFirst(4).trimmingCharacters(in: .whitespaces)
    }
}
