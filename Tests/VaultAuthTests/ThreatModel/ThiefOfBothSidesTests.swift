import CredentialVault
import Foundation
import KeyServiceClient
import Testing
import VaultBase
import VaultCrypto
import VaultStorage
import VaultTesting

@testable import KeyServiceCore

/// Thieves who have the disk, and also something of the key service or of its traffic.
@Suite(.timeLimit(.minutes(2))) struct ThiefOfBothSidesTests {
    /// Tries the guesses without the service.
    ///
    /// - Returns: the right one, and the vault key.
    private func search(
        _ open: (_ guess: String) async throws -> VaultKey?
    ) async throws -> (guess: String, vaultKey: VaultKey)? {
        for guess in ThreatFixture.guesses {
            if let vaultKey = try await open(guess) { return (guess, vaultKey) }
        }
        return nil
    }

    // Row: recorded traffic, or a false address that got logins; later the disk
    // Row: a terminator that changed the traffic while the first key was made, and no key was pinned; later the disk
    // Row: a terminator that changed the traffic while a later key was made; later the disk
    @Test func `when version 1 traffic is recorded, then guesses go uncounted`() async throws {
        try await withThreats(1) { fixture in
            let vaultKey = try await fixture.register()
            try await fixture.login()
            // One recorded answer is enough: that to the new key, or that to a login.
            for recorded in fixture.service.traffic.released {
                let (thief, calls) = (try await fixture.thief(), fixture.service.traffic.calls)
                let found = try await search { guess in
                    guard try await thief.fixedSecret(guess) == recorded.secret else { return nil }
                    return try await thief.open(guess, released: recorded.key)
                }
                #expect(found?.guess == ThreatFixture.password)
                #expect(try await found?.vaultKey.isEqual(to: vaultKey) == true)
                #expect(fixture.service.traffic.calls == calls)
            }
            #expect(fixture.service.traffic.released.count == 2)
        }
    }

    // Row: recorded traffic, or a false address that got logins; later the disk
    @Test func `when a false address got logins, then guesses go uncounted`() async throws {
        try await withThreats(1) { fixture in
            let vaultKey = try await fixture.register()
            let address = FalseAddress()
            #expect(await fixture.failure(ThreatFixture.password, fixture.accounts(first: address)) != nil)
            let (secret, thief) = (try #require(address.secrets.withLock { $0.last }), try await fixture.thief())
            var found: [String] = []
            for guess in ThreatFixture.guesses where try await thief.fixedSecret(guess) == secret {
                found.append(guess)
            }
            let right = try #require(found.first)
            #expect(found.count == 1 && right == ThreatFixture.password)
            let released = try await fixture.service.releaseKey(
                id: thief.slot.keyID, secret: SecretBytes(copying: secret), kind: .secret)
            let key = released.key.withUnsafeBytes { Array($0) }
            #expect(try await thief.open(right, released: key)?.isEqual(to: vaultKey) == true)
        }
    }

    // Row: the service's database and master key; later the disk
    @Test(arguments: [1, 2])
    func `when a thief has both sides, then guesses go uncounted`(version: Int) async throws {
        try await withThreats(version) { fixture in
            let vaultKey = try await fixture.register()
            let (thief, calls) = (try await fixture.thief(), fixture.service.traffic.calls)
            let (key, masterKeys) = try await fixture.service.stolen(thief.slot.keyID)
            let found = try await search { guess in
                guard version == 2 else { return try await thief.open(guess, record: key.record, masterKeys) }
                let function = try await fixture.service.stolenFunction(key.record.id)
                return try await thief.open(output: thief.output(guess, function: function))
            }
            #expect(found?.guess == ThreatFixture.password)
            #expect(try await found?.vaultKey.isEqual(to: vaultKey) == true)
            #expect(fixture.service.traffic.calls == calls)
            #expect(try await fixture.service.stolen(key.record.id).key.guesses.isEmpty)
            // The cost of a guess outside of tests.
            let cost = Argon2Parameters.standard
            #expect(cost.passes == 3 && cost.memoryKiB == 64 * 1024 && cost.lanes == 4)
        }
    }

    // Row: a terminator that changed the traffic while the first key was made, and no key was pinned; later the disk
    // Row: neither
    @Test func `when a terminator makes the key, then guesses go uncounted`() async throws {
        try await withKeyService { service, clock in
            let terminator = try Terminator()
            let fixture = ThreatFixture(2, service, clock, second: terminator)
            let vaultKey = try await fixture.register()
            let thief = try await fixture.thief()
            let found = try await search { guess in
                try await thief.open(output: thief.output(guess, function: terminator.function.bytes))
            }
            #expect(found?.guess == ThreatFixture.password)
            #expect(try await found?.vaultKey.isEqual(to: vaultKey) == true)
            #expect(service.traffic.calls == 0)
        }
    }

    // Row: the database, the master key and the traffic, but no disk
    @Test(arguments: [1, 2])
    func `when the disk is missing, then guesses cannot be checked`(version: Int) async throws {
        try await withThreats(version) { fixture in
            try await fixture.register()
            try await fixture.login()
            let disk = try await fixture.account()
            // More than the row says: this thief also has the keyslots. Only the device secret is missing.
            let other = Account(
                id: disk.id, clientID: disk.clientID, keyServiceURL: disk.keyServiceURL,
                deviceSecret: [UInt8](repeating: 0, count: 32), createdAt: disk.createdAt, keyslots: disk.keyslots)
            for (thief, knows) in [(DiskThief(disk: disk), true), (DiskThief(disk: other), false)] {
                if version == 1 {
                    let secret = try await thief.fixedSecret(ThreatFixture.password)
                    #expect(fixture.service.traffic.released.map(\.secret).contains(secret) == knows)
                } else {
                    let id = try thief.slot.keyID
                    let function = try await fixture.service.stolenFunction(id)
                    let output = try await thief.output(ThreatFixture.password, function: function)
                    let stored = try #require(try await fixture.service.stolen(id).key.confirmKey)
                    #expect((try OPRFDerivation.confirmKey(output, id: id).publicKey == stored) == knows)
                }
            }
        }
    }
}

/// The server of a thief at the address that a changed store names. It keeps the fixed secrets, and answers nothing.
private final class FalseAddress: KeyService {
    let secrets = Lock<[[UInt8]]>([])

    func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
        throw KeyServiceError(.unavailable, "The key service does not answer.")
    }

    func releaseKey(id: String, secret: borrowing SecretBytes, kind: KeySecretKind) async throws -> ReleasedKey {
        let bytes = secret.withUnsafeBytes { Array($0) }
        secrets.withLock { $0.append(bytes) }
        throw KeyServiceError(.unavailable, "The key service does not answer.")
    }

    func checkReachable() async throws {}
    func endKey(id: String) async throws {}
}

/// A machine between client and service that makes keys with a function of its own.
private struct Terminator: OPRFKeyService {
    let function: SharedSecret

    init() throws { function = SharedSecret(try OPRF.randomKey()) }

    func protocolVersions() async throws -> Set<Int> { [2] }

    func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation {
        try FirstEvaluation(
            element: OPRF.evaluate(key.blinded, key: function.bytes),
            ticket: OPRFDerivation.ticket(key.id, key.blinded))
    }

    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        let ticket = OPRFDerivation.ticket(id, blinded)
        return try Evaluation(
            element: OPRF.evaluate(blinded, key: function.bytes), ticket: ticket, guessesRemaining: 2,
            open: [.init(ticket: ticket, date: date)])
    }

    func confirm(_ confirmation: KeyConfirmation) async throws {}
    func endKey(id: String, signature: [UInt8]) async throws {}
}
