import CredentialVault
import Testing
import VaultAuth
import VaultDevelopment
import VaultTesting

extension Fixture {
    static let pin = "2846"

    /// Adds the PIN, and returns the changed account.
    @discardableResult
    func addPIN(_ pin: String = pin) async throws -> Account {
        try await vault.storage.setPIN(
            SecretBytes(utf8: pin), userID: "alice", password: SecretBytes(utf8: Self.password))
        return try await account()
    }

    func account() async throws -> Account { try await vault.storage.account(userID: "alice") }

    func vaultKey() async throws -> VaultKey {
        try await vault.accounts.open(account(), with: .password(SecretBytes(utf8: Self.password)))
    }

    func login(with method: UnlockMethod) async throws -> Session {
        try await vault.auth.login(userID: "alice", with: method)
    }

    /// A code that opens the account.
    func addRecoveryCode() async throws -> SharedSecret {
        let accounts = try vault.accounts
        let key = try await vaultKey()
        let (code, slot) = try await accounts.makeRecoveryKeyslot(for: account(), vaultKey: key)
        try await accounts.add(slot, to: account(), vaultKey: key)
        return code
    }

    func addOffline() async throws {
        try await vault.accounts.addOffline(
            password: SharedSecret(SecretBytes(utf8: Self.password)), to: account(), vaultKey: vaultKey())
    }

    func kinds() async throws -> [String] { try await account().keyslots.map(\.kind.rawValue).sorted() }
}

extension UnlockMethod {
    static func pin(_ text: String) throws -> UnlockMethod { .pin(SharedSecret(try SecretBytes(utf8: text))) }
    static func offline(_ text: String) throws -> UnlockMethod { .offline(SharedSecret(try SecretBytes(utf8: text))) }
}

/// PIN and recovery code: secrets that a person types besides the password.
struct UnlockTests {
    @Test func `when a PIN logs in, then one service call suffices`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addPIN()
            let password = try UnlockMethod.password(SecretBytes(utf8: Fixture.password))
            for method in [try UnlockMethod.pin(Fixture.pin), password] {
                let before = fixture.keyService.calls
                let session = try await fixture.login(with: method)
                #expect(fixture.keyService.calls == before + 1)
                #expect(session.isOpen && session.isConfirmed && !session.isOffline)
            }
        }
    }

    @Test(arguments: [true, false])
    func `when the PIN or password locks, then the other opens`(locksPIN: Bool) async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addPIN()
            func method(_ isPIN: Bool, _ secret: String? = nil) throws -> UnlockMethod {
                try isPIN ? .pin(secret ?? Fixture.pin) : .password(SecretBytes(utf8: secret ?? Fixture.password))
            }
            for left in [2, 1, 0] {
                let error = await failure { _ = try await fixture.login(with: try method(locksPIN, "not the secret")) }
                #expect(error?.code == .wrongSecret && error?.guessesRemaining == left)
            }
            let locked = await failure { _ = try await fixture.login(with: method(locksPIN)) }
            #expect(locked?.code == .keyLocked)
            #expect(locked?.description.contains("Another unlock method still opens the account") == true)
            #expect(try await fixture.login(with: method(!locksPIN)).isOpen)
        }
    }

    @Test func `when a PIN is replaced, then the old PIN fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addPIN()
            try await fixture.addPIN("7391")
            #expect(try await fixture.kinds() == ["password", "pin"])
            #expect(await failure { _ = try await fixture.login(with: .pin(Fixture.pin)) }?.code == .wrongSecret)
            #expect(try await fixture.login(with: .pin("7391")).isOpen)
        }
    }

    @Test func `when an unlock method is missing, then nothing is sent`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let before = fixture.keyService.calls
            let code = SharedSecret(try RecoveryCode.random())
            let token = try ScriptedHardwareKey(pin: "123456")
            for method in [
                try UnlockMethod.pin(Fixture.pin), .recoveryCode(code), try .offline(Fixture.password),
                .hardware(token, ScriptedPrompt("123456")),
            ] {
                #expect(await failure { _ = try await fixture.login(with: method) }?.code == .notEnrolled)
            }
            #expect(fixture.keyService.calls == before)
        }
    }

    @Test func `when a recovery code is typed loosely, then it opens`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let code = try await fixture.addRecoveryCode()
            let text = code.bytes.utf8String() ?? ""
            let typed = SharedSecret(try SecretBytes(utf8: text.lowercased().replacing("-", with: " ")))
            let session = try await fixture.login(with: .recoveryCode(typed))
            // The vault key from the recovery code lets the person replace the forgotten password.
            try await fixture.vault.accounts.setPassword(
                SecretBytes(utf8: "a new one for tea"), of: fixture.account(), vaultKey: session.openVaultKey())
            #expect(await failure { try await fixture.login() }?.code == .wrongSecret)
            #expect(try await fixture.login(password: "a new one for tea").isOpen)
        }
    }

    @Test func `when a recovery code is mistyped, then no guess counts`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let code = try await fixture.addRecoveryCode()
            var letters = Array(code.bytes.utf8String() ?? "")
            letters[7] = letters[7] == "7" ? "8" : "7"
            let slip = SharedSecret(try SecretBytes(utf8: String(letters)))
            let before = fixture.keyService.calls
            #expect(await failure { _ = try await fixture.login(with: .recoveryCode(slip)) }?.code == .wrongSecret)
            #expect(fixture.keyService.calls == before)
        }
    }

    @Test func `when the last unlock method would go, then removal fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addOffline()
            let accounts = try fixture.vault.accounts
            let id = try await fixture.id()
            let password = try #require(await fixture.account().passwordKeyslot)
            let error = await failure { try await accounts.removeKeyslot(password.id, of: id) }
            #expect(error?.code == .lastUnlockMethod)
            #expect(try await fixture.kinds() == ["offline", "password"])
            try await fixture.addPIN()
            try await accounts.removeKeyslot(password.id, of: id)
            #expect(try await fixture.kinds() == ["pin"], "the offline keyslot has the same password")
            #expect(try await fixture.login(with: .pin(Fixture.pin)).isOpen)
        }
    }

    @Test(arguments: [false, true])
    func `when the password changes, then other methods go on request`(drops: Bool) async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addPIN()
            try await fixture.addOffline()
            let dropped = try await fixture.vault.accounts.setPassword(
                SecretBytes(utf8: "a new one for tea"), of: fixture.account(), vaultKey: fixture.vaultKey(),
                dropsOtherMethods: drops)
            #expect(dropped.endedKeyslots.map(\.kind.rawValue).sorted() == (drops ? ["offline", "pin"] : []))
            #expect(try await fixture.kinds() == (drops ? ["password"] : ["offline", "password", "pin"]))
            #expect(try await fixture.login(password: "a new one for tea").isOpen)
            if !drops {
                #expect(try await fixture.login(with: .pin(Fixture.pin)).isOpen)
                // The old password opens nothing any more, not even without the network.
                #expect(
                    await failure { _ = try await fixture.login(with: .offline(Fixture.password)) }?.code
                        == .wrongSecret)
                #expect(try await fixture.login(with: .offline("a new one for tea")).isOpen)
            }
        }
    }

    @Test func `when the vault key is old, then nothing is added`() async throws {
        try await withFixture { fixture in
            let old = try await fixture.register().openVaultKey()
            let token = try await fixture.signIn()
            try await fixture.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: "another one for tea"))
            let account = try await fixture.account()
            let accounts = try fixture.vault.accounts
            let added = await failure {
                try await accounts.addPIN(SecretBytes(utf8: Fixture.pin), to: account, vaultKey: old)
            }
            #expect(added?.code == .notLoggedIn)
            let changed = await failure {
                try await accounts.setPassword(SecretBytes(utf8: "a third one for tea"), of: account, vaultKey: old)
            }
            #expect(changed?.code == .notLoggedIn)
            #expect(try await fixture.login(password: "another one for tea").isOpen)
        }
    }

    @Test func `when an account registers again, then keyslots and items stay`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.putNote()
            let code = try await fixture.addRecoveryCode()
            try await fixture.addPIN()
            let before = try await fixture.account()
            let wrongPIN = try UnlockMethod.pin("9999")
            let token = try await fixture.signIn()
            let wrong = await failure { try await fixture.vault.storage.storeRefreshToken(token, with: wrongPIN) }
            #expect(wrong?.code == .wrongSecret)
            for method in [try UnlockMethod.pin(Fixture.pin), .recoveryCode(code)] {
                let token = try await fixture.signIn()
                let session = try await fixture.vault.storage.storeRefreshToken(token, with: method)
                #expect(session.isOpen)
                #expect(try await fixture.account().deviceSecret == before.deviceSecret)
                // After a wrong PIN, the PIN has a new key. All other data stays the same.
                let others = try await fixture.account().keyslots.filter { $0.kind != .pin }
                #expect(others.map(\.id) == before.keyslots.filter { $0.kind != .pin }.map(\.id))
                #expect(try await fixture.kinds() == ["password", "pin", "recovery"])
                #expect(try await fixture.note(password: Fixture.password) == [1, 2, 3])
                let stored = try await fixture.vault.storage.storedRefreshToken(
                    userID: "alice", password: SecretBytes(utf8: Fixture.password))
                #expect(stored.value == token.value)
            }
        }
    }

    @Test(arguments: [[UInt8]?.none, [0x43, 0x56, 1, 1]])
    func `when stored claims are damaged, then registering again works`(claims: [UInt8]?) async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.putNote()
            let id = try await fixture.id()
            let damage: StoreChange = claims.map { .putItem(.idTokenClaims, $0) } ?? .removeItem(.idTokenClaims)
            try await fixture.store.apply([damage], to: id)
            #expect(try await fixture.note(password: Fixture.password) == [1, 2, 3])
            let token = try await fixture.signIn()
            try await fixture.vault.storage.storeRefreshToken(
                token, withExistingPassword: SecretBytes(utf8: Fixture.password))
            let stored = try await fixture.vault.storage.storedRefreshToken(
                userID: "alice", password: SecretBytes(utf8: Fixture.password))
            #expect(stored.identity.claimsJSON == token.identity.claimsJSON)
            #expect(stored.identity.name == "Alice Example")
            #expect(try await fixture.note(password: Fixture.password) == [1, 2, 3])
            try await fixture.addPIN()
        }
    }

    @Test func `when a PIN opens, then its last use is noted`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let pin = try #require(try await fixture.addPIN().keyslot(.pin))
            #expect(pin.lastUsedAt == nil)
            fixture.clock.advance(by: 100)
            _ = try await fixture.login(with: .pin(Fixture.pin))
            try await fixture.vault.accounts.renameKeyslot(pin.id, of: fixture.id(), to: "mine")
            let after = try #require(try await fixture.account().keyslot(.pin))
            #expect(after.lastUsedAt == fixture.clock.now && after.label == "mine")
        }
    }
}
