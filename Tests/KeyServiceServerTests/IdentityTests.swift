import Foundation
import KeyServiceAPI
import KeyServiceTestSupport
import Testing
import VaultBase
import VaultCrypto

@testable import KeyServiceAudit
@testable import KeyServiceCore
@testable import KeyServiceSQLite

/// The identity of a running service.
@Suite struct IdentityTests {
    /// Makes a key of version 2, and checks its signature.
    ///
    /// - Returns: the identity that signed it.
    private static func made(_ client: Client) async throws -> AnnouncedIdentity {
        let id = UUID().uuidString.lowercased()
        let secret = try SecretBytes.random(count: 32)
        let blinded = try OPRF.blind(secret).element.bytes
        let endKey = try SigningKey(seed: secret).publicKey
        let request = CreateOPRFKeyRequest(id: id, requestKey: endKey, endKey: endKey, blinded: blinded)
        var identities: Set<AnnouncedIdentity> = []
        // A repeated request gets the same signature.
        for _ in 0..<2 {
            let reply = try await client.post(OPRFPath.keys, JSONEncoder().encode(request))
            #expect(reply.status == 200)
            let answer = try JSONDecoder().decode(CreatedOPRFKey.self, from: Data(reply.body))
            let identity = try #require(answer.identity)
            let message = OPRFMessage.created(
                id: id, blinded: blinded, evaluated: answer.evaluated.bytes, ticket: answer.ticket.bytes,
                claimWithin: answer.claimWithin)
            #expect(Signature.isValid(answer.signature?.bytes ?? [], of: message, by: identity.key.bytes))
            identities.insert(identity)
        }
        return try #require(identities.count == 1 ? identities.first : nil)
    }

    private static func announced(_ client: Client) async throws -> AnnouncedIdentity? {
        let reply = try await client.get(OPRFPath.base)
        return try JSONDecoder().decode(ProtocolVersions.self, from: Data(reply.body)).identity
    }

    @Test func `when an identity is made, then no hyphen starts it`() throws {
        for _ in 0..<500 {
            let first = try #require(try IdentityKey.random().announced.key.bytes.first)
            #expect(first >> 2 != 62, "the key begins with -")
        }
    }

    @Test func `when keys are made, then the announced identity signs them`() async throws {
        let identity = try await withService { client in
            let identity = try await Self.made(client)
            #expect(try await Self.announced(client) == identity)
            return identity
        }
        #expect(identity.chain == nil)
    }

    @Test func `when the service restarts, then its identity stays the same`() async throws {
        let (one, two) = (try TemporaryFolder(), try TemporaryFolder())
        var seen: [AnnouncedIdentity] = []
        for temporary in [one, one, two] {
            let opened = try await KeyServiceFolder(path: temporary.data).openCreatingIfAbsent()
            defer { opened.store.close() }
            seen.append(try await withService(opened) { try await Self.made($0) })
        }
        #expect(seen[0] == seen[1] && seen[0] != seen[2])
        // The secret key is not in the files in the clear.
        let folder = KeyServiceFolder(path: one.data)
        let identity = try await folder.openStore().identity(folder.masterKeys())
        #expect(identity?.publicKey == Base64URL.encode(seen[0].key.bytes))
    }

    @Test func `when the identity rotates, then the new key signs`() async throws {
        let store = InMemoryKeyRecordStore()
        let opened = try await OpenedStore(store, masterKeys: MasterKeys(.random()))
        let watch = try await IdentityWatch(store, opened.masterKeys)
        let old = watch.current.announced
        let new = try await store.rotateIdentity(opened.masterKeys)
        #expect(watch.current.announced == old)
        await watch.look()
        #expect(watch.current.announced == new.announced && watch.current.announced.chain?.first?.key == old.key)
        let signer = try await withService(opened) { try await Self.made($0) }
        #expect(signer == new.announced)
    }

    @Test func `when a backup is restored, then the newer identity stays`() async throws {
        let temporary = try TemporaryFolder()
        let folder = KeyServiceFolder(path: temporary.data)
        let (backup, kept) = (temporary.path + "/backup.sqlite", folder.path + "/keys.sqlite.before-restore")
        try await folder.create()
        let before = try await folder.openStore().identity(folder.masterKeys())?.publicKey
        try folder.openStore().backUp(to: backup)
        try await folder.restore(from: backup)
        #expect(try await folder.openStore().identity(folder.masterKeys())?.publicKey == before)
        try FileManager.default.removeItem(atPath: kept)
        // Clients may know the new key already.
        let new = try await folder.openStore().rotateIdentity(folder.masterKeys())
        try await folder.restore(from: backup)
        #expect(try await folder.openStore().identity(folder.masterKeys())?.publicKey == new.publicKey)
        try FileManager.default.removeItem(atPath: kept)
        // An identity that the backup's does not lead to is not taken over.
        let stranger = try IdentityKey.random().sealed(folder.masterKeys().current)
        let store = try folder.openStore()
        #expect(try await store.setIdentity(stranger, insteadOf: store.identity()))
        store.close()
        try await folder.restore(from: backup)
        #expect(try await folder.openStore().identity(folder.masterKeys())?.publicKey == before)
    }
}
