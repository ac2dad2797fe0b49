internal import Foundation
public import VaultHTTP

/// Shows the identity provider's login to the person. On a desktop that is the system's browser.
///
/// A conformer must not follow or fetch the URL itself unless it plays the person's part in a test, must not keep it,
/// and may return before the person has logged in: the answer comes by another way. It must return when its task is
/// cancelled.
public protocol UserAgent: Sendable {
    /// Shows `url` to the person.
    ///
    /// - Throws: when it cannot be shown; the login then ends with that error.
    func open(_ url: String) async throws

    /// Tells the person that a connection to the port of the sign-in was refused. The sign-in goes on waiting. Without
    /// an implementation nothing happens.
    func connectionWasRefused(_ connection: RefusedConnection) async
}

extension UserAgent {
    public func connectionWasRefused(_ connection: RefusedConnection) async {}
}

/// The browser that the desktop opens links with, by `xdg-open`.
public struct SystemBrowser: UserAgent {
    public init() {}

    /// - Throws: ``VaultError`` with code `configurationInvalid` when no browser could be started.
    public func open(_ url: String) async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["xdg-open", url]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        // xdg-open may stay for as long as the browser that it started: only an early failure is one.
        let status: Int32? = await withCheckedContinuation { continuation in
            let answer = OneAnswer(continuation)
            process.terminationHandler = { answer.give($0.terminationStatus) }
            do { try process.run() } catch { answer.give(127) }
            DispatchQueue.global().asyncAfter(deadline: .now() + 3) { answer.give(nil) }
        }
        guard let status, status != 0 else { return }
        throw VaultError(
            .configurationInvalid,
            "No browser could be opened.")
    }

    /// Resumes a continuation with the first answer and drops the rest.
    private final class OneAnswer: @unchecked Sendable {
        // Sound: `lock` guards the only variable.
        private let lock = NSLock()
        private var continuation: CheckedContinuation<Int32?, Never>?

        init(_ continuation: CheckedContinuation<Int32?, Never>) {
            self.continuation = continuation
        }

        func give(_ status: Int32?) {
            lock.withLock {
                continuation?.resume(returning: status)
                continuation = nil
            }
        }
    }
}
