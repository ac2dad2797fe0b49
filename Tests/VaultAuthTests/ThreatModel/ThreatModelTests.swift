import CredentialVault
import Foundation
import KeyServiceClient
import Testing
import VaultCrypto
import VaultStorage
import VaultTesting

/// The thieves of the threat model, each with exactly what its row gives. The key service is the real one.
@Suite(.timeLimit(.minutes(2))) struct ThreatModelTests {
    /// Opens a keyslot as a thief who has the disk, and runs nothing that counts.
    private func open(_ slot: Keyslot, of account: Account, _ password: String) async throws -> VaultKey {
        let input = try await slot.stretched(
            SharedSecret(SecretBytes(utf8: password)), of: account, cost: .insecureForTests, size: 32)
        return try await LocalKeys().open(slot, of: account, input: input, spendsLastGuess: false).vaultKey
    }

    // Row: the disk
    // Row: (the password)
    // Row: a PIN
    // Row: `pin`
    @Test(arguments: [1, 2])
    func `when a thief has the disk, then three guesses remain`(version: Int) async throws {
        try await withThreats(version) { fixture in
            let vaultKey = try await fixture.register()
            try await fixture.accounts.addPIN(SecretBytes(utf8: "826493"), to: fixture.account(), vaultKey: vaultKey)
            for kind in [Keyslot.Kind.password, .pin] {
                let thief = try await fixture.thief(kind)
                var answers = 0
                for number in 0..<8 {
                    if try await thief.isAnswered("guess \(number)", by: fixture.service, at: fixture.clock.now) {
                        answers += 1
                    }
                    fixture.clock.advance(by: 60)
                }
                #expect(answers == 3, "\(kind)")
                let secret = kind == .pin ? "826493" : ThreatFixture.password
                #expect(
                    try await !thief.isAnswered(secret, by: fixture.service, at: fixture.clock.now),
                    "the right secret comes too late")
            }
            #expect(await fixture.failure() == .keyLocked)
        }
    }

    // Row: the password, offline
    // Row: `offline`
    @Test(arguments: [1, 2])
    func `when an offline keyslot exists, then guesses have no limit`(version: Int) async throws {
        try await withThreats(version) { fixture in
            let vaultKey = try await fixture.register()
            let slot = try await fixture.accounts.addOffline(
                password: SharedSecret(SecretBytes(utf8: ThreatFixture.password)), to: fixture.account(),
                vaultKey: vaultKey
            )
            let (account, calls) = (try await fixture.account(), fixture.service.traffic.calls)
            for number in 0..<50 {
                await #expect(throws: VaultError.self) { try await open(slot, of: account, "guess \(number)") }
            }
            #expect(try await open(slot, of: account, ThreatFixture.password).isEqual(to: vaultKey))
            #expect(fixture.service.traffic.calls == calls)
            let cost = Argon2Parameters.withoutKeyService
            #expect(cost.passes == 4 && cost.memoryKiB == 256 * 1024 && cost.lanes == 4)
        }
    }

    // Row: the vault key, from a copy that was opened once; later the disk
    // Row: the vault key; the disk after `vault rekey`
    @Test(arguments: [1, 2])
    func `when a copy is opened once, then only rekeying helps`(version: Int) async throws {
        try await withThreats(version) { fixture in
            let stolen = try await fixture.register()
            let password = SharedSecret(try SecretBytes(utf8: "a new one for tea"))
            try await fixture.accounts.setPassword(password.bytes, of: fixture.account(), vaultKey: stolen)
            try await fixture.store.apply(
                [.putItem("later", stolen.seal(Array("a later note".utf8), as: "later", of: ThreatFixture.id))],
                to: ThreatFixture.id)
            let calls = fixture.service.traffic.calls
            func read(_ name: ItemName) async throws -> [UInt8]? {
                let sealed = try #require(try await fixture.store.item(name, of: ThreatFixture.id))
                return try? await stolen.open(sealed, as: name, of: ThreatFixture.id)
            }
            #expect(try await read("later") == Array("a later note".utf8))
            #expect(try await read(.refreshToken) != nil)
            #expect(fixture.service.traffic.calls == calls)
            let replaced = try await fixture.accounts.replaceVaultKey(
                of: fixture.account(), keeping: .password(password))
            for name in try await fixture.store.itemNames(of: ThreatFixture.id) {
                #expect(try await read(name) == nil, "\(name)")
            }
            #expect(try await !replaced.vaultKey.isEqual(to: stolen))
        }
    }

    // Row: the service answers
    @Test func `when a secret is wrong, then only version 1 refuses`() async throws {
        try await withThreats(1) { fixture in
            try await fixture.register()
            let released = fixture.service.traffic.released.count
            #expect(await fixture.failure("a slip") == .wrongSecret)
            #expect(fixture.service.traffic.released.count == released)
            try await fixture.login()
            #expect(fixture.service.traffic.released.count > released)
        }
        try await withThreats(2) { fixture in
            try await fixture.register()
            let function = try await fixture.service.stolenFunction(fixture.thief().slot.keyID)
            #expect(await fixture.failure("a slip") == .wrongSecret)
            try await fixture.login()
            let evaluated = fixture.service.traffic.evaluated
            #expect(evaluated.count == 5, "the new key twice, the slip, the slip again, and the login")
            for answer in evaluated {
                #expect(try OPRF.evaluate(answer.blinded, key: function) == answer.evaluated)
            }
        }
    }

    // Row: `vault` sends
    // Row: the service learns
    @Test func `when people log in, then only version 2 varies requests`() async throws {
        try await withThreats(1) { fixture in
            try await fixture.register()
            for _ in 1...3 { try await fixture.login() }
            #expect(Set(fixture.service.traffic.released.map(\.secret)).count == 1)
        }
        try await withThreats(2) { fixture in
            try await fixture.register()
            for _ in 1...3 { try await fixture.login() }
            // The new key is evaluated twice.
            #expect(Set(fixture.service.traffic.evaluated.map(\.blinded)).count == 5)
            // A confirmation proves that a guess was right, and a wrong guess has none.
            let confirmed = fixture.service.traffic.confirmations
            #expect(await fixture.failure("a slip") == .wrongSecret)
            #expect(fixture.service.traffic.confirmations == confirmed)
            let (slot, last) = (try await fixture.thief().slot, try #require(confirmed.last))
            #expect(last.isSigned(by: slot.check))
            let login = try #require(fixture.service.traffic.evaluated.dropFirst(4).first).blinded
            #expect(last.tickets.first == OPRFDerivation.ticket(slot.keyID, login))
        }
    }
}
