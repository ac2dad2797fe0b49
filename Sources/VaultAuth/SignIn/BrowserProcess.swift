internal import Foundation
internal import VaultBase

/// A program of the desktop. Its arguments are passed unchanged, and no shell reads them.
final class BrowserProcess: Sendable {
    private let process = Process()
    private let output = Pipe()
    /// The exit status; nil while the program runs.
    private let ended = Lock<Int32?>(nil)

    /// - Parameters:
    ///   - command: the path of the program, and its arguments.
    ///   - keepsOutput: whether the program's output is kept. Otherwise it is dropped.
    init(_ command: [String], keepsOutput: Bool = false) {
        process.executableURL = URL(fileURLWithPath: command.first ?? "")
        process.arguments = Array(command.dropFirst())
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = keepsOutput ? output : FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
    }

    /// Returns the program with this name in the PATH; nil if there is none.
    static func path(of name: String) -> String? {
        guard !name.contains("/") else { return access(name, X_OK) == 0 ? name : nil }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(
            separator: ":")
        return folders.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    /// Starts the program.
    ///
    /// - Parameter limit: the longest wait for its end; nil for no limit.
    /// - Returns: the exit status. Nil if the program goes on, or if the task was cancelled. 127 if it cannot be
    ///   started.
    func start(within limit: Duration?) async -> Int32? {
        process.terminationHandler = { [self] process in
            ended.withLock { $0 = process.terminationStatus }
            process.terminationHandler = nil  // The handler holds this object.
        }
        do {
            try process.run()
        } catch {
            // Otherwise a reader of ``text`` would wait for ever.
            try? output.fileHandleForWriting.close()
            return 127
        }
        return await end(within: limit)
    }

    /// The program's output, after its end.
    var text: String {
        String(decoding: (try? output.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
    }

    /// Ends the program and all programs of its process group.
    func stop() async {
        // The caller may already be cancelled, and could then not wait.
        await Task {
            for (signal, timeout) in [(SIGTERM, Duration.seconds(1)), (SIGKILL, .milliseconds(500))] {
                guard ended.withLock({ $0 == nil }) else { return }
                let number = process.processIdentifier
                kill(getpgid(number) == number ? -number : number, signal)
                if await end(within: timeout) != nil { return }
            }
        }.value
    }

    /// Waits for the end of the program, as ``start(within:)``.
    func end(within limit: Duration?) async -> Int32? {
        let deadline = limit.map { ContinuousClock.now + $0 }
        while true {
            if let status = ended.withLock({ $0 }) { return status }
            if let deadline, ContinuousClock.now >= deadline { return nil }
            do { try await Task.sleep(for: .milliseconds(20)) } catch { return nil }
        }
    }
}
