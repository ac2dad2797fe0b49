import Foundation
import KeyServiceClient
import Testing
import VaultBase
import VaultBiometric
import VaultCrypto
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// A false service while a key is made, and the identity key that shows it.
@Suite(.timeLimit(.minutes(2))) struct KeyServiceIdentityTests {
    private let pin = "8068"

    private func addPIN(_ fixture: OPRFFixture, _ vaultKey: VaultKey, _ pin: String = "8068") async throws {
        try await fixture.accounts.addPIN(SecretBytes(utf8: pin), to: fixture.account(), vaultKey: vaultKey)
    }

    /// A guess that somebody made with a copy of the store, two minutes before the owner's login.
    private func guessElsewhere(_ fixture: OPRFFixture) async throws {
        _ = await (try fixture.copied()).failure("a wrong guess")
        fixture.clock.advance(by: 120)
    }

    // Row: a terminator that changed the traffic while a later key was made; later the disk
    // Row: no pinned key, but a keyslot for this address with an identity key
    @Test func `when an impostor answers, then no unlock method is added`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let before = try await fixture.account()
        fixture.service.isImpostor = true
        let error = await #expect(throws: VaultError.self) { try await addPIN(fixture, vaultKey) }
        #expect(error?.code == .keyServiceNotTrusted)
        let known = try #require(error).description
        #expect(known.contains("fingerprint") && known.contains("trust the new one"))
        #expect(
            await fixture.failure {
                try await fixture.accounts.setPassword(
                    SecretBytes(utf8: "a new one for tea"), of: fixture.account(), vaultKey: vaultKey)
            } == .keyServiceNotTrusted)
        let token = try ScriptedHardwareKey(pin: "123456")
        #expect(
            await fixture.failure {
                try await fixture.accounts.addHardware(
                    token, prompt: ScriptedPrompt("123456"), to: fixture.account(), vaultKey: vaultKey)
            } == .keyServiceNotTrusted)
        #expect(try await fixture.account().keyslots.map(\.id) == before.keyslots.map(\.id))
        // A login makes no key.
        #expect(try await fixture.login() == nil)
        fixture.service.isImpostor = false
        try await addPIN(fixture, vaultKey)
        try await fixture.login(with: .pin(SecretBytes(utf8: pin)))
    }

    @Test func `when the service's identity disappears, then no PIN is added`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        fixture.service.hasIdentity = false
        #expect(await fixture.failure { try await addPIN(fixture, vaultKey) } == .keyServiceNotTrusted)
        #expect(try await fixture.login() == nil)
    }

    // Row: neither
    @Test func `when an older service gains an identity, then impostors fail`() async throws {
        let fixture = OPRFFixture()
        fixture.service.hasIdentity = false
        let vaultKey = try await fixture.register()
        try await addPIN(fixture, vaultKey)
        fixture.service.hasIdentity = true
        try await addPIN(fixture, vaultKey, "7391")
        fixture.service.isImpostor = true
        #expect(await fixture.failure { try await addPIN(fixture, vaultKey) } == .keyServiceNotTrusted)
    }

    @Test func `when claim times are hidden, then no PIN is added`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        fixture.service.endsUnclaimedKeys = true
        fixture.service.accessTokenOwner = { _ in nil }
        // Only the signed answer tells this program of the time, as if somebody had hidden it before.
        #expect(await fixture.failure { try await addPIN(fixture, vaultKey) } == .keyServiceUnavailable)
        let hiding = fixture.restarted { HidingService(base: $0) }
        #expect(await hiding.failure { try await addPIN(hiding, vaultKey) } == .keyServiceNotTrusted)
        #expect(try await fixture.account().keyslots.map(\.kind) == [.password])
    }

    // Row: no pinned key, but a keyslot for this address with an identity key
    // Row: a pinned identity key: the setting or policy `key-service-keys`
    @Test func `when the service identity rotates twice, then clients follow it`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let token = try ScriptedHardwareKey(pin: "123456")
        try await fixture.accounts.addHardware(
            token, prompt: ScriptedPrompt("123456"), to: fixture.account(), vaultKey: vaultKey)
        try fixture.service.rotateIdentity()
        try fixture.service.rotateIdentity()
        try await addPIN(fixture, vaultKey)
        // Nobody goes back to the first key, even with its secret key.
        let first = try SigningKey(seed: SecretBytes.random(count: 32))
        let present = try #require(try fixture.service.identity)
        // A pinned key is followed, too.
        let pinned = fixture.restarted(policy: VaultPolicy(keyServiceKeys: [Base64URL.encode(present.chain[0].key)]))
        try await addPIN(pinned, vaultKey, "7391")
        #expect(present.chain.count == 2 && present.continues(present.chain[0].key))
        #expect(!ServiceIdentity(key: present.chain[0].key).continues(present.key))
        #expect(!present.continues(first.publicKey))
    }

    @Test func `when an identity link is wrong, then the chain breaks`() async throws {
        let old = try SigningKey(seed: SecretBytes.random(count: 32))
        let new = try SigningKey(seed: SecretBytes.random(count: 32))
        let right = old.next(new.publicKey)
        #expect(ServiceIdentity(key: new.publicKey, chain: [right]).continues(old.publicKey))
        for bit in 0..<512 {
            var signature = right.signature
            signature[bit / 8] ^= 1 << (bit % 8)
            let wrong = ServiceIdentity.Link(key: right.key, signature: signature)
            #expect(!ServiceIdentity(key: new.publicKey, chain: [wrong]).continues(old.publicKey), "\(bit)")
        }
        // A link that another key signed.
        let stranger = new.next(new.publicKey)
        let mixed = ServiceIdentity.Link(key: old.publicKey, signature: stranger.signature)
        #expect(!ServiceIdentity(key: new.publicKey, chain: [mixed]).continues(old.publicKey))
    }

    @Test func `when a renewal meets an impostor, then the key stays`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let old = try await fixture.slot().keyID
        try await guessElsewhere(fixture)
        fixture.service.isImpostor = true
        for _ in 0..<3 {
            let notice = try #require(try await fixture.login())
            #expect(notice.code == .wrongGuesses && !notice.isRenewed)
        }
        #expect(try await fixture.slot().keyID == old)
        let told = fixture.told.notices.filter { $0.code == .keyServiceNotTrusted }
        #expect(told.count == 1 && told.first?.description.contains("The password did not get a new key") == true)
        // On another network the renewal goes on.
        fixture.service.isImpostor = false
        #expect(try await fixture.login()?.isRenewed == true)
        #expect(try await fixture.slot().keyID != old)
        #expect(try await fixture.login() == nil)
        try await addPIN(fixture, vaultKey)
    }

    // Row: a pinned identity key: the setting or policy `key-service-keys`
    @Test func `when another identity is pinned, then no PIN is added`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let right = Base64URL.encode(try #require(try fixture.service.identity).key)
        let other = Base64URL.encode(try SigningKey(seed: SecretBytes.random(count: 32)).publicKey)
        let wrong = fixture.restarted(policy: VaultPolicy(keyServiceKeys: [other]))
        let error = await #expect(throws: VaultError.self) { try await addPIN(wrong, vaultKey) }
        #expect(error?.code == .keyServiceNotTrusted && error?.description.contains("allows") == true)
        #expect(try await wrong.login() == nil)
        let both = fixture.restarted(policy: VaultPolicy(keyServiceKeys: [other, right]))
        try await addPIN(both, vaultKey)
        // A pinned key counts instead of the known one: the operator may have made a new service.
        fixture.service.isImpostor = true
        let new = Base64URL.encode(try #require(try fixture.service.identity).key)
        let moved = fixture.restarted(policy: VaultPolicy(keyServiceKeys: [new]))
        try await addPIN(moved, vaultKey, "7391")
        // A key that is no key allows nothing.
        let none = fixture.restarted(policy: VaultPolicy(keyServiceKeys: ["A"]))
        #expect(await none.failure { try await addPIN(none, vaultKey) } == .keyServiceNotTrusted)
    }

    @Test func `when a pinned identity is missing, then registration fails`() async throws {
        let fixture = OPRFFixture()
        let right = Base64URL.encode(try #require(try fixture.service.identity).key)
        let strict = fixture.restarted(policy: VaultPolicy(keyServiceKeys: [right]))
        fixture.service.hasIdentity = false
        #expect(await strict.failure { try await strict.register() } == .keyServiceNotTrusted)
        fixture.service.hasIdentity = true
        try await strict.register()
    }

    @Test func `when a stored identity key changes, then login reports damage`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        let (account, slot) = (try await fixture.account(), try await fixture.slot())
        #expect(slot.protection == (try #require(try fixture.service.identity).key))
        let other = try SigningKey(seed: SecretBytes.random(count: 32)).publicKey
        for protection in [[], other] {
            let changed = Keyslot(
                id: slot.id, kind: slot.kind, salt: slot.salt, argon2: slot.argon2, keyID: slot.keyID,
                keyServiceProtocol: slot.keyServiceProtocol, wrapped: slot.wrapped, createdAt: slot.createdAt,
                protection: protection, check: slot.check,
                endSignature: slot.endSignature)
            try await fixture.store.apply([.removeKeyslot(id: slot.id), .putKeyslot(changed)], to: account.id)
            #expect(await fixture.failure() == .storeCorrupt)
        }
    }

    @Test func `when a second account registers, then impostors are refused`() async throws {
        let fixture = OPRFFixture()
        try await fixture.register()
        fixture.service.isImpostor = true
        let token = SignInResult(
            Credential(value: "refresh token", scope: "openid"),
            account: AccountID(issuer: issuer, subject: "bob"), clientID: "app",
            identity: .init(email: nil, preferredUsername: nil, name: nil, claimsJSON: Array("{}".utf8)),
            accessToken: nil)
        #expect(
            await fixture.failure {
                _ = try await fixture.accounts.register(
                    token, newPassword: SecretBytes(utf8: "a new one for tea"), alias: nil, replacingItems: false)
            } == .keyServiceNotTrusted)
        // Whoever registers again has perhaps a new service.
        try await fixture.register(replacingItems: true)
    }

    @Test func `when a service has only version 1, then registration fails`() async throws {
        let fixture = OPRFFixture()
        fixture.service.versions = [1]
        let error = await #expect(throws: VaultError.self) { try await fixture.register() }
        #expect(error?.code == .configurationInvalid)
        #expect(error?.detail == .oldProtocol && error?.value == "1")
        await #expect(throws: VaultError.self) { try await fixture.accounts.checkKeyService() }
        #expect(fixture.first.liveKeys == [], "nothing was made")
        let byHand = OPRFFixture(service: fixture.service, first: fixture.first, newAccountProtocol: 1)
        try await byHand.accounts.checkKeyService()
        let vaultKey = try await byHand.register()
        #expect(try await byHand.slot().keyServiceProtocol == 1)
        // An existing account of version 1 goes on without the setting.
        let later = byHand.restarted()
        try await later.login()
        try await addPIN(later, vaultKey)
        #expect(try await later.slot(.pin).keyServiceProtocol == 1)
    }

    @Test(arguments: [
        ([], "There is no key service at"), ([3], "does not know the protocol versions of the key service"),
    ])
    func `when a server names no usable version, then version 1 is not proposed`(
        versions: [Int], text: String
    ) async throws {
        let fixture = OPRFFixture()
        fixture.service.versions = Set(versions)
        let attempts: [() async throws -> Void] = [
            { try await fixture.accounts.checkKeyService() }, { _ = try await fixture.register() },
        ]
        for attempt in attempts {
            let error = await #expect(throws: (any Error).self) { try await attempt() }
            let shown = try #require(error.map(VaultError.converting) as? VaultError)
            #expect(shown.code == .configurationInvalid && shown.detail == nil && shown.description.contains(text))
        }
        #expect(fixture.first.liveKeys == [], "nothing was made")
    }

    @Test func `when a policy lists unusable identity keys, then reading fails`() throws {
        let keys = try (0..<3).map { _ in
            Base64URL.encode(try SigningKey(seed: SecretBytes.random(count: 32)).publicKey)
        }
        func read(_ list: String) throws -> Set<String>? {
            try VaultPolicy(json: Array("{\"key-service-keys\": \(list)}".utf8), from: "policy.json").keyServiceKeys
        }
        #expect(try read("[\"\(keys[0])\"]") == [keys[0]])
        #expect(try read("[\"\(keys[0])\", \"\(keys[1])\"]") == [keys[0], keys[1]])
        for list in ["[]", "[\"A\"]", "\"\(keys[0])\"", "[\(keys.map { "\"\($0)\"" }.joined(separator: ","))]"] {
            #expect(throws: VaultError.self, "\(list)") { try read(list) }
        }
        #expect(
            VaultPolicy.stricter(
                of: VaultPolicy(keyServiceKeys: [keys[0], keys[1]]), VaultPolicy(keyServiceKeys: [keys[1]])
            )
            .keyServiceKeys == [keys[1]])
    }
}

/// Somebody in the network who removes the time for a claim from the answers.
private struct HidingService: WrappedOPRFService {
    let base: any OPRFKeyService

    func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation {
        let answer = try await base.createKey(key)
        return FirstEvaluation(
            element: answer.element, ticket: answer.ticket, identity: answer.identity, signature: answer.signature)
    }
}
