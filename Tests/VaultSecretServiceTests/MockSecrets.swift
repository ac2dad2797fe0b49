import Foundation
import TestSupport
import Testing
import VaultSecretService

/// The test's own session bus, with a Secret Service that the bus starts. See `mock_secrets.py`.
struct MockSecrets: Sendable {
    private let bus: ScriptedBus

    /// The address of the bus.
    var address: String { bus.address }

    /// Starts neither the bus nor the service.
    init() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        bus = try ScriptedBus(folder.appending(path: "mock_secrets.py").path)
    }

    /// A bus with a service that is unlocked and empty.
    static func started() async throws -> MockSecrets {
        let mock = try MockSecrets()
        for command in ["start_bus", "install_service"] { try await mock.run(command) }
        return mock
    }

    /// Runs a command, and returns its answer.
    @discardableResult
    func run(_ command: String) async throws -> String { try await bus.run(command) }

    /// A keyring that asks this service.
    func keyring(timeLimit: Duration = .seconds(30), questionTimeLimit: Duration = .seconds(30)) -> SecretService {
        SecretService(busAddress: address, timeLimit: timeLimit, questionTimeLimit: questionTimeLimit)
    }

    /// The numbers of questions to the person, of windows that a program closed, and of items.
    func counts() async throws -> [Int] {
        try await run("change").split(separator: " ").compactMap { Int($0) }
    }
}
