import Foundation
import HTTPTypes
import KeyServiceAPI
import Testing
import VaultBase
import VaultCrypto

@testable import KeyServiceCore

/// An owner who unlocks a key with an access token of a fresh sign-in.
@Suite struct OwnerUnlockServiceTests {
    private static let now: Int64 = 1_700_000_000
    private static let clock: @Sendable () -> Int64 = { now }
    private static let id = "0190f3a2-5b1c-4d7e-8a61-3c2f9e7d4b10"
    private static let alice = KeyOwner(issuer: "https://id.example", subject: "alice")

    /// Each token is the time of its sign-in.
    private struct Owners: OwnerVerifier {
        func owner(of presented: PresentedToken) async throws -> VerifiedOwner {
            guard presented.path == OPRFPath.device(OwnerUnlockServiceTests.id, .unlock) else {
                throw OwnerVerificationError.invalidToken
            }
            return VerifiedOwner(OwnerUnlockServiceTests.alice, authenticatedAt: Int64(presented.token))
        }
    }

    /// A store with a locked key of alice.
    private static func locked(_ state: StoredKey.State = .live) async throws -> OpenedStore {
        let opened = try await OpenedStore.inMemory()
        // The store of a moment ago had no key for owners yet.
        try await opened.masterKeys.match(opened.store)
        let bytes = [UInt8](repeating: 7, count: 32)
        let record = KeyRecord(
            id: id, createdAt: now - 1000, details: .oprf(endKey: bytes, confirmKey: bytes),
            masterKeyID: opened.masterKeys.current.id, content: [UInt8](repeating: 1, count: 144))
        let guesses = (0..<3).map { number in
            StoredKey.Guess(
                ticket: [UInt8](repeating: number, count: 16), blinded: [UInt8](repeating: number, count: 32),
                openedAt: now - 100)
        }
        let key = StoredKey(
            record: record, state: state, guesses: state == .live ? guesses : [],
            owner: try alice.hash(under: opened.masterKeys.ownerKey().bytes))
        #expect(try await opened.store.put([key], whileRetiredBecause: nil))
        return opened
    }

    private static func key(_ opened: OpenedStore) async throws -> StoredKey {
        try #require(try await opened.store.page(after: nil, count: 10, of: .all).undamagedKeys().first)
    }

    private static func unlock(_ client: Client, _ token: String) async throws -> (status: Int, code: String?) {
        let reply = try await client.post(
            OPRFPath.device(id, .unlock), "{}".utf8, headers: [.authorization: "Bearer \(token)"])
        return (reply.status, (try? JSONDecoder().decode(OPRFProblem.self, from: Data(reply.body)))?.code)
    }

    @Test func `when a sign-in is not fresh, then the key stays locked`() async throws {
        let opened = try await Self.locked()
        try await withService(opened, now: Self.clock, owners: Owners()) { client async throws in
            for token in ["\(Self.now - 301)", "\(Self.now + 121)", "never"] {
                let answer = try await Self.unlock(client, token)
                #expect(answer.status == 401 && answer.code == "sign_in_again")
            }
        }
        #expect(try await Self.key(opened).guesses.count == 3)
    }

    @Test func `when a sign-in is fresh, then the guesses return`() async throws {
        let opened = try await Self.locked()
        try await withService(opened, now: Self.clock, owners: Owners()) { client async throws in
            // The second answer is the same, because the first one may have been lost.
            for _ in 1...2 { #expect(try await Self.unlock(client, "\(Self.now - 300)").status == 200) }
        }
        let key = try await Self.key(opened)
        #expect(key.guesses.isEmpty && key.wrongInAll == 3 && key.ownerUnlockedAt == Self.now)
    }

    @Test(arguments: [StoredKey.State.ended, .revoked, .destroyed])
    func `when a key is gone, then no sign-in revives it`(state: StoredKey.State) async throws {
        let opened = try await Self.locked(state)
        let before = try await Self.key(opened)
        try await withService(opened, now: Self.clock, owners: Owners()) { client async throws in
            let answer = try await Self.unlock(client, "\(Self.now)")
            #expect(answer.status == 404 && answer.code == "no_such_device")
        }
        #expect(try await Self.key(opened) == before)
    }

    @Test func `when the operator does not allow it, then there is no path`() async throws {
        let opened = try await Self.locked()
        try await withService(opened, now: Self.clock) { client async throws in
            let answer = try await Self.unlock(client, "\(Self.now)")
            #expect(answer.status == 404 && answer.code == "no_such_path")
        }
    }
}
