import Foundation
import TestSupport

/// The test's own message bus, with a logind on it. See `mock_logind.py`.
struct MockLogind: Sendable {
    private let bus: ScriptedBus

    /// The address of the bus.
    var address: String { bus.address }

    /// Starts neither the bus nor logind yet.
    init() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        bus = try ScriptedBus(folder.appending(path: "mock_logind.py").path)
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
    func run(_ command: String) async throws -> String { try await bus.run(command) }
}
