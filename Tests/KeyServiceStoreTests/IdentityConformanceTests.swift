import KeyServiceAPI
import KeyServiceTestSupport
import Testing
import VaultBase
import VaultCrypto

@testable import KeyServiceCore

/// The identity of the service in each store.
@Suite struct IdentityConformanceTests {
    /// A store with the entry of a master key.
    private func store(_ kind: StoreKind, _ masterKey: MasterKey) async throws -> TestStore {
        let test = try await kind.make()
        try await test.store.addMasterKey(masterKey.makeEntry())
        return test
    }

    @Test(arguments: StoreKind.allCases)
    func `when two instances make an identity, then both share one`(kind: StoreKind) async throws {
        let masterKey = try MasterKey.random()
        let test = try await store(kind, masterKey)
        let (one, two) = (test.store, try await test.secondInstance())
        #expect(try await one.identity() == nil)
        async let first = one.makeIdentity(MasterKeys(masterKey))
        async let second = two.makeIdentity(MasterKeys(masterKey))
        let keys = try await [first.publicKey, second.publicKey]
        #expect(Set(keys).count == 1)
        #expect(try await one.identity() == two.identity())
    }

    @Test(arguments: StoreKind.allCases)
    func `when the expected identity differs, then replacing it fails`(kind: StoreKind) async throws {
        let masterKey = try MasterKey.random()
        let test = try await store(kind, masterKey)
        let values = try (0..<3).map { _ in try IdentityKey.random().sealed(masterKey) }
        #expect(try await !test.store.setIdentity(values[1], insteadOf: values[0]))
        #expect(try await test.store.identity() == nil)
        #expect(try await test.store.setIdentity(values[0], insteadOf: nil))
        #expect(try await !test.store.setIdentity(values[1], insteadOf: nil))
        #expect(try await !test.store.setIdentity(values[1], insteadOf: values[2]))
        #expect(try await test.store.identity() == values[0])
        #expect(try await test.store.setIdentity(values[1], insteadOf: values[0]))
        #expect(try await test.store.identity() == values[1])
    }

    @Test(arguments: StoreKind.allCases)
    func `when the master key changes, then the identity stays`(kind: StoreKind) async throws {
        let (old, new) = (try MasterKey.random(), try MasterKey.random())
        let test = try await store(kind, old)
        let before = try await test.store.makeIdentity(MasterKeys(old))
        #expect(try await !test.store.removeMasterKey(old.id), "the identity needs it")
        let masterKeys = MasterKeys(new, old: [old])
        // Only the identity is under the old key, and the server does not have that key.
        let error = await #expect(throws: KeyServiceServerError.self) {
            try await test.store.addMasterKey(new.makeEntry())
            try await MasterKeys(new).match(test.store)
        }
        #expect(error?.code == .configurationInvalid)
        let outcome = try await MasterKeyRotation(test.store, masterKeys).run()
        #expect(outcome.removed == [old.id])
        #expect(try await test.store.identity(MasterKeys(new))?.publicKey == before.publicKey)
    }

    @Test(arguments: StoreKind.allCases)
    func `when an identity rotates, then the old signs the new`(kind: StoreKind) async throws {
        let masterKey = try MasterKey.random()
        let test = try await store(kind, masterKey)
        let masterKeys = MasterKeys(masterKey)
        var (last, first) = (try await test.store.makeIdentity(masterKeys), "")
        first = last.publicKey
        for count in 1...40 {
            let next = try await test.store.rotateIdentity(masterKeys)
            #expect(next.continues(last) && next.publicKey != last.publicKey)
            #expect(next.earlierKeys == min(count, 32))
            let link = try #require(next.announced.chain?.last)
            let message = OPRFMessage.identity(
                old: last.announced.key.bytes, new: next.announced.key.bytes)
            #expect(link.key == last.announced.key)
            #expect(Signature.isValid(link.signature.bytes, of: message, by: link.key.bytes))
            last = next
        }
        #expect(try await test.secondInstance().identity(masterKeys)?.publicKey == last.publicKey)
        #expect(last.announced.chain?.contains { Base64URL.encode($0.key.bytes) == first } == false)
    }

    @Test func `when the keys move, then the identity moves`() async throws {
        let masterKey = try MasterKey.random()
        let source = InMemoryKeyRecordStore()
        try await source.addMasterKey(masterKey.makeEntry())
        let identity = try await source.makeIdentity(MasterKeys(masterKey))
        let target = InMemoryKeyRecordStore()
        _ = try await StoreMove(folder: "/srv/keys", source: source, target: target, report: { _ in }).run()
        #expect(try await target.identity(MasterKeys(masterKey))?.publicKey == identity.publicKey)
    }

    @Test func `when a stored identity is damaged, then opening it fails`() async throws {
        let masterKey = try MasterKey.random()
        let stored = try IdentityKey.random().rotated().sealed(masterKey)
        for bit in 0..<stored.content.count * 8 {
            var damaged = stored
            damaged.content[bit / 8] ^= 1 << (bit % 8)
            let error = #expect(throws: KeyServiceServerError.self) { try IdentityKey(damaged, MasterKeys(masterKey)) }
            #expect(error?.code == .storeUnusable)
        }
    }
}
