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
        try await withThreats(version) { bench in
            let vaultKey = try await bench.register()
            try await bench.accounts.addPIN(SecretBytes(utf8: "826493"), to: bench.account(), vaultKey: vaultKey)
            for kind in [Keyslot.Kind.password, .pin] {
                let thief = try await bench.thief(kind)
                var answers = 0
                for number in 0..<8 {
                    if try await thief.isAnswered("guess \(number)", by: bench.service, at: bench.clock.now) {
                        answers += 1
                    }
                    bench.clock.advance(by: 60)
                }
                #expect(answers == 3, "\(kind)")
                let secret = kind == .pin ? "826493" : ThreatBench.password
                #expect(
                    try await !thief.isAnswered(secret, by: bench.service, at: bench.clock.now),
                    "the right secret comes too late")
            }
            #expect(await bench.failure() == .keyLocked)
        }
    }

    // Row: the password, offline
    // Row: `offline`
    @Test(arguments: [1, 2])
    func `when an offline keyslot exists, then guesses have no limit`(version: Int) async throws {
        try await withThreats(version) { bench in
            let vaultKey = try await bench.register()
            let slot = try await bench.accounts.addOffline(
                password: SharedSecret(SecretBytes(utf8: ThreatBench.password)), to: bench.account(), vaultKey: vaultKey
            )
            let (account, calls) = (try await bench.account(), bench.service.traffic.calls)
            for number in 0..<50 {
                await #expect(throws: VaultError.self) { try await open(slot, of: account, "guess \(number)") }
            }
            #expect(try await open(slot, of: account, ThreatBench.password).isEqual(to: vaultKey))
            #expect(bench.service.traffic.calls == calls)
            let cost = Argon2Parameters.withoutKeyService
            #expect(cost.passes == 4 && cost.memoryKiB == 256 * 1024 && cost.lanes == 4)
        }
    }

    // Row: the vault key, from a copy that was opened once; later the disk
    // Row: the vault key; the disk after `vault rekey`
    @Test(arguments: [1, 2])
    func `when a copy is opened once, then only rekeying helps`(version: Int) async throws {
        try await withThreats(version) { bench in
            let stolen = try await bench.register()
            let password = SharedSecret(try SecretBytes(utf8: "a new one for tea"))
            try await bench.accounts.setPassword(password.bytes, of: bench.account(), vaultKey: stolen)
            try await bench.store.apply(
                [.putItem("later", stolen.seal(Array("a later note".utf8), as: "later", of: ThreatBench.id))],
                to: ThreatBench.id)
            let calls = bench.service.traffic.calls
            func read(_ name: ItemName) async throws -> [UInt8]? {
                let sealed = try #require(try await bench.store.item(name, of: ThreatBench.id))
                return try? await stolen.open(sealed, as: name, of: ThreatBench.id)
            }
            #expect(try await read("later") == Array("a later note".utf8))
            #expect(try await read(.refreshToken) != nil)
            #expect(bench.service.traffic.calls == calls)
            let replaced = try await bench.accounts.replaceVaultKey(
                of: bench.account(), keeping: .password(password))
            for name in try await bench.store.itemNames(of: ThreatBench.id) {
                #expect(try await read(name) == nil, "\(name)")
            }
            #expect(try await !replaced.vaultKey.isEqual(to: stolen))
        }
    }

    // Row: the service answers
    @Test func `when a secret is wrong, then only version 1 refuses`() async throws {
        try await withThreats(1) { bench in
            try await bench.register()
            let released = bench.service.traffic.released.count
            #expect(await bench.failure("a slip") == .wrongSecret)
            #expect(bench.service.traffic.released.count == released)
            try await bench.login()
            #expect(bench.service.traffic.released.count > released)
        }
        try await withThreats(2) { bench in
            try await bench.register()
            let function = try await bench.service.stolenFunction(bench.thief().slot.keyID)
            #expect(await bench.failure("a slip") == .wrongSecret)
            try await bench.login()
            let evaluated = bench.service.traffic.evaluated
            #expect(evaluated.count == 5, "the new key twice, the slip, the slip again, and the login")
            for answer in evaluated {
                #expect(try OPRF.evaluate(answer.blinded, key: function) == answer.evaluated)
            }
        }
    }

    // Row: `vault` sends
    // Row: the service learns
    @Test func `when people log in, then only version 2 varies requests`() async throws {
        try await withThreats(1) { bench in
            try await bench.register()
            for _ in 1...3 { try await bench.login() }
            #expect(Set(bench.service.traffic.released.map(\.secret)).count == 1)
        }
        try await withThreats(2) { bench in
            try await bench.register()
            for _ in 1...3 { try await bench.login() }
            // The new key is evaluated twice.
            #expect(Set(bench.service.traffic.evaluated.map(\.blinded)).count == 5)
            // A confirmation proves that a guess was right, and a wrong guess has none.
            let confirmed = bench.service.traffic.confirmations
            #expect(await bench.failure("a slip") == .wrongSecret)
            #expect(bench.service.traffic.confirmations == confirmed)
            let (slot, last) = (try await bench.thief().slot, try #require(confirmed.last))
            #expect(last.isSigned(by: slot.check))
            let login = try #require(bench.service.traffic.evaluated.dropFirst(4).first).blinded
            #expect(last.tickets.first == OPRFDerivation.ticket(slot.keyID, login))
        }
    }
}
