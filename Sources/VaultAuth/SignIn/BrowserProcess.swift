internal import Foundation
internal import VaultLocks

/// A program of the desktop, started with its words as they are: no shell reads them.
final class BrowserProcess: Sendable {
    private let process = Process()
    private let output = Pipe()
    /// The exit status, once it has ended.
    private let ended = Lock<Int32?>(nil)

    /// - Parameters:
    ///   - command: the path of the program, and its arguments.
    ///   - keepsOutput: whether what it prints is read; otherwise nobody sees it.
    init(_ command: [String], keepsOutput: Bool = false) {
        process.executableURL = URL(fileURLWithPath: command.first ?? "")
        process.arguments = Array(command.dropFirst())
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = keepsOutput ? output : FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
    }

    /// The program that the PATH has under a name; nil when it has none.
    static func path(of name: String) -> String? {
        guard !name.contains("/") else { return access(name, X_OK) == 0 ? name : nil }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(
            separator: ":")
        return folders.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    /// Starts it.
    ///
    /// - Parameter limit: for how long its end is waited for; nil for as long as it takes.
    /// - Returns: its exit status; nil when it goes on, or the task was cancelled. 127 when it cannot be started.
    func start(within limit: Duration?) async -> Int32? {
        process.terminationHandler = { [self] process in
            ended.withLock { $0 = process.terminationStatus }
            process.terminationHandler = nil  // It holds this object.
        }
        do {
            try process.run()
        } catch {
            // Otherwise a reader of ``text`` would wait for this end of the pipe.
            try? output.fileHandleForWriting.close()
            return 127
        }
        return await end(within: limit)
    }

    /// What it printed, once it has ended.
    var text: String {
        String(decoding: (try? output.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
    }

    /// Ends the program and all programs of its process group.
    func stop() async {
        // Whoever stops it may be cancelled already, and could not wait any more.
        await Task {
            for (signal, patience) in [(SIGTERM, Duration.seconds(1)), (SIGKILL, .milliseconds(500))] {
                guard ended.withLock({ $0 == nil }) else { return }
                let number = process.processIdentifier
                kill(getpgid(number) == number ? -number : number, signal)
                if await end(within: patience) != nil { return }
            }
        }.value
    }

    private func end(within limit: Duration?) async -> Int32? {
        let deadline = limit.map { ContinuousClock.now + $0 }
        while true {
            if let status = ended.withLock({ $0 }) { return status }
            if let deadline, ContinuousClock.now >= deadline { return nil }
            do { try await Task.sleep(for: .milliseconds(20)) } catch { return nil }
        }
    }
}
