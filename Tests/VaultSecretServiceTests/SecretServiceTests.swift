import TestSupport
import Testing
import VaultBiometric
import VaultCrypto
import VaultSecretService

/// The keyring of the desktop, against a Secret Service on a bus of the test's own.
@Suite(.timeLimit(.minutes(2))) struct SecretServiceTests {
    private let id = "0123456789abcdef"

    private func newSecret() throws -> SharedSecret { SharedSecret(try SecretBytes.random(count: 32)) }

    /// The code of the error of a search; nil if there was none.
    private func failure(_ keyring: SecretService) async -> BiometricError.Code? {
        await thrown(\BiometricError.code) { _ = try await keyring.secrets(of: id) }
    }

    @Test func `when a secret is stored, then only its id finds it`() async throws {
        let mock = try await MockSecrets.started()
        let (keyring, secret) = (mock.keyring(), try newSecret())
        #expect(await keyring.availability(of: nil) == .available)
        #expect(await keyring.availability(of: id) == .missing)
        try await keyring.store(secret, as: id)
        #expect(await keyring.availability(of: id) == .available)
        let found = try await keyring.secrets(of: id)
        let areSame = found.map { $0.bytes.isEqual(to: secret.bytes) }
        #expect(areSame == [true])
        #expect(try await keyring.secrets(of: "another").isEmpty)
        try await keyring.remove("another")
        #expect(try await mock.counts() == [0, 0, 1])
        try await keyring.remove(id)
        try await keyring.remove(id)
        #expect(try await mock.counts() == [0, 0, 0])
        #expect(try await keyring.secrets(of: id).isEmpty)
    }

    @Test func `when the time limit is negative, then nothing is available`() async {
        let keyring = SecretService(busAddress: "unix:path=/nonexistent/bus", timeLimit: .seconds(-1))
        #expect(await keyring.availability(of: nil) != .available)
    }

    @Test func `when the keyring is locked, then it asks the person`() async throws {
        let mock = try await MockSecrets.started()
        let keyring = mock.keyring()
        try await mock.run("change locked true")
        #expect(await keyring.availability(of: nil) == .lockedOut(for: nil))
        try await keyring.store(newSecret(), as: id)
        #expect(try await mock.counts() == [1, 0, 1])
        try await mock.run("change locked true")
        #expect(await keyring.availability(of: id) == .lockedOut(for: nil))
        try await keyring.remove(id)
        #expect(try await mock.counts() == [1, 0, 1], "removing is no reason for a question")
        #expect(try await keyring.secrets(of: id).count == 1)
        #expect(try await mock.counts() == [2, 0, 1])
    }

    @Test func `when the person closes the window, then nothing opens`() async throws {
        let mock = try await MockSecrets.started()
        let keyring = mock.keyring()
        try await keyring.store(newSecret(), as: id)
        try await mock.run("change answer close")
        try await mock.run("change locked true")
        #expect(await failure(keyring) == .lockedOut)
        let code = await thrown(\BiometricError.code) { try await keyring.store(newSecret(), as: "another") }
        #expect(code == .lockedOut)
        #expect(try await mock.counts() == [2, 0, 1])
    }

    @Test func `when the caller gives up, then the window closes`() async throws {
        let mock = try await MockSecrets.started()
        let keyring = mock.keyring()
        try await keyring.store(newSecret(), as: id)
        try await mock.run("change answer wait")
        try await mock.run("change locked true")
        let asking = Task { try await keyring.secrets(of: id).count }
        try await mock.run("await_question")
        asking.cancel()
        await #expect(throws: CancellationError.self) { try await asking.value }
        try await mock.run("await_dismissal")
    }

    @Test func `when nobody answers, then the window closes`() async throws {
        let mock = try await MockSecrets.started()
        try await mock.keyring().store(newSecret(), as: id)
        try await mock.run("change answer wait")
        try await mock.run("change locked true")
        #expect(await failure(mock.keyring(questionTimeLimit: .seconds(1))) == .timedOut)
        try await mock.run("await_dismissal")
    }

    @Test func `when another program answers, then the keyring ignores it`() async throws {
        let mock = try await MockSecrets.started()
        let keyring = mock.keyring()
        try await keyring.store(newSecret(), as: id)
        try await mock.run("change answer wait")
        try await mock.run("change locked true")
        let asking = Task { try await keyring.secrets(of: id).count }
        try await mock.run("await_question")
        try await mock.run("imitate 1")
        asking.cancel()
        // If it believed the other program, it would report a locked keyring.
        await #expect(throws: CancellationError.self) { try await asking.value }
    }

    @Test func `when the service ends in a call, then another answers`() async throws {
        let mock = try await MockSecrets.started()
        let keyring = mock.keyring()
        try await keyring.store(newSecret(), as: id)
        try await mock.run("change ends true")
        #expect(try await keyring.secrets(of: id).count == 1)
        // It ends while its window asks. The next service asks again.
        try await mock.run("change answer end")
        try await mock.run("change locked true")
        #expect(try await keyring.secrets(of: id).count == 1)
    }

    @Test func `when items were copied, then all secrets come back`() async throws {
        let mock = try await MockSecrets.started()
        let (keyring, secret) = (mock.keyring(), try newSecret())
        try await keyring.store(secret, as: id)
        try await mock.run("change copy_items " + String(repeating: "A", count: 43))
        // Two items that are none of ours: no base64url, and too long.
        try await mock.run("change copy_items password!")
        try await mock.run("change copy_items " + String(repeating: "A", count: 1000))
        let found = try await keyring.secrets(of: id)
        let areSame = found.map { $0.bytes.isEqual(to: secret.bytes) }
        #expect(areSame == [false, true])
    }

    @Test func `when an item has another schema, then nobody finds it`() async throws {
        let mock = try await MockSecrets.started()
        let keyring = mock.keyring()
        try await keyring.store(newSecret(), as: id)
        try await mock.run("change change_schema org.example.Other")
        #expect(await keyring.availability(of: id) == .missing)
        #expect(try await keyring.secrets(of: id).isEmpty)
        try await keyring.remove(id)
        #expect(try await mock.counts() == [0, 0, 1])
    }

    @Test func `when bus or service is missing, then the error says so`() async throws {
        let mock = try MockSecrets()
        let keyring = mock.keyring()
        #expect(await keyring.availability(of: id) == .missing)
        #expect(await failure(keyring) == .hardwareMissing)
        try await mock.run("start_bus")
        #expect(await keyring.availability(of: nil) == .missing)
        #expect(await failure(keyring) == .hardwareMissing)
        try await mock.run("install_service")
        #expect(await keyring.availability(of: nil) == .available)
        try await mock.run("change alias false")
        #expect(await keyring.availability(of: nil) != .available)
        let code = await thrown(\BiometricError.code) { try await keyring.store(newSecret(), as: id) }
        #expect(code == .unavailable)
    }

    @Test func `when the service never answers, then the call ends`() async throws {
        let mock = try await MockSecrets.started()
        try await mock.run("change hangs true")
        #expect(await failure(mock.keyring(timeLimit: .milliseconds(300))) == .timedOut)
    }

    @Test(arguments: ["tcp:host=127.0.0.1,port=4242", "unix:path=/nowhere;tcp:host=127.0.0.1,port=4242"])
    func `when the bus is elsewhere, then it gets no secret`(_ address: String) async throws {
        let keyring = SecretService(busAddress: address)
        let code = await thrown(\BiometricError.code) { try await keyring.store(newSecret(), as: id) }
        #expect(code == .unavailable)
    }

    @Test func `when a call ends, then no secret stays in memory`() async throws {
        let mock = try await MockSecrets.started()
        await #expect(processExitsWith: .success) { [address = mock.address as String] in
            let keyring = SecretService(busAddress: address)
            let secret = SharedSecret(try SecretBytes.random(count: 32))
            let text = HiddenBytes(try SecretBase64.encode(secret.bytes, .urlSafe))
            try await keyring.store(secret, as: "0123456789abcdef")
            #expect(try text.occurrences() == 0)
            #expect(try await keyring.secrets(of: "0123456789abcdef").count == 1)
            #expect(try text.occurrences() == 0)
        }
        withExtendedLifetime(mock) {}
    }
}
