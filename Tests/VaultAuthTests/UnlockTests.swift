import CredentialVault
import Testing
import VaultAuth
import VaultDevelopment
import VaultTesting

extension Bench {
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
        try await withBench { bench in
            try await bench.register()
            try await bench.addPIN()
            let password = try UnlockMethod.password(SecretBytes(utf8: Bench.password))
            for method in [try UnlockMethod.pin(Bench.pin), password] {
                let before = bench.keyService.calls
                let session = try await bench.login(with: method)
                #expect(bench.keyService.calls == before + 1)
                #expect(session.isOpen && session.isConfirmed && !session.isOffline)
            }
        }
    }

    @Test(arguments: [true, false])
    func `when the PIN or password locks, then the other opens`(locksPIN: Bool) async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.addPIN()
            func method(_ isPIN: Bool, _ secret: String? = nil) throws -> UnlockMethod {
                try isPIN ? .pin(secret ?? Bench.pin) : .password(SecretBytes(utf8: secret ?? Bench.password))
            }
            for left in [2, 1, 0] {
                let error = await failure { _ = try await bench.login(with: try method(locksPIN, "not the secret")) }
                #expect(error?.code == .wrongSecret && error?.guessesRemaining == left)
            }
            let locked = await failure { _ = try await bench.login(with: method(locksPIN)) }
            #expect(locked?.code == .keyLocked)
            #expect(locked?.description.contains("Another unlock method still opens the account") == true)
            #expect(try await bench.login(with: method(!locksPIN)).isOpen)
        }
    }

    @Test func `when a PIN is replaced, then the old PIN fails`() async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.addPIN()
            try await bench.addPIN("7391")
            #expect(try await bench.kinds() == ["password", "pin"])
            #expect(await failure { _ = try await bench.login(with: .pin(Bench.pin)) }?.code == .wrongSecret)
            #expect(try await bench.login(with: .pin("7391")).isOpen)
        }
    }

    @Test func `when an unlock method is missing, then nothing is sent`() async throws {
        try await withBench { bench in
            try await bench.register()
            let before = bench.keyService.calls
            let code = SharedSecret(try RecoveryCode.random())
            let token = try ScriptedHardwareKey(pin: "123456")
            for method in [
                try UnlockMethod.pin(Bench.pin), .recoveryCode(code), try .offline(Bench.password),
                .hardware(token, ScriptedPrompt("123456")),
            ] {
                #expect(await failure { _ = try await bench.login(with: method) }?.code == .notEnrolled)
            }
            #expect(bench.keyService.calls == before)
        }
    }

    @Test func `when a recovery code is typed loosely, then it opens`() async throws {
        try await withBench { bench in
            try await bench.register()
            let code = try await bench.addRecoveryCode()
            let text = code.bytes.utf8String() ?? ""
            let typed = SharedSecret(try SecretBytes(utf8: text.lowercased().replacing("-", with: " ")))
            let session = try await bench.login(with: .recoveryCode(typed))
            // The vault key from the recovery code lets the person replace the forgotten password.
            try await bench.vault.accounts.setPassword(
                SecretBytes(utf8: "a new one for tea"), of: bench.account(), vaultKey: session.openVaultKey())
            #expect(await failure { try await bench.login() }?.code == .wrongSecret)
            #expect(try await bench.login(password: "a new one for tea").isOpen)
        }
    }

    @Test func `when a recovery code is mistyped, then no guess counts`() async throws {
        try await withBench { bench in
            try await bench.register()
            let code = try await bench.addRecoveryCode()
            var letters = Array(code.bytes.utf8String() ?? "")
            letters[7] = letters[7] == "7" ? "8" : "7"
            let slip = SharedSecret(try SecretBytes(utf8: String(letters)))
            let before = bench.keyService.calls
            #expect(await failure { _ = try await bench.login(with: .recoveryCode(slip)) }?.code == .wrongSecret)
            #expect(bench.keyService.calls == before)
        }
    }

    @Test func `when the last unlock method would go, then removal fails`() async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.addOffline()
            let accounts = try bench.vault.accounts
            let id = try await bench.id()
            let password = try #require(await bench.account().passwordKeyslot)
            let error = await failure { try await accounts.removeKeyslot(password.id, of: id) }
            #expect(error?.code == .lastUnlockMethod)
            #expect(try await bench.kinds() == ["offline", "password"])
            try await bench.addPIN()
            try await accounts.removeKeyslot(password.id, of: id)
            #expect(try await bench.kinds() == ["pin"], "what opens with the password goes with it")
            #expect(try await bench.login(with: .pin(Bench.pin)).isOpen)
        }
    }

    @Test(arguments: [false, true])
    func `when the password changes, then other methods go on request`(drops: Bool) async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.addPIN()
            try await bench.addOffline()
            let dropped = try await bench.vault.accounts.setPassword(
                SecretBytes(utf8: "a new one for tea"), of: bench.account(), vaultKey: bench.vaultKey(),
                dropsOtherMethods: drops)
            #expect(dropped.endedKeyslots.map(\.kind.rawValue).sorted() == (drops ? ["offline", "pin"] : []))
            #expect(try await bench.kinds() == (drops ? ["password"] : ["offline", "password", "pin"]))
            #expect(try await bench.login(password: "a new one for tea").isOpen)
            if !drops {
                #expect(try await bench.login(with: .pin(Bench.pin)).isOpen)
                // The old password opens nothing any more, not even without the network.
                #expect(
                    await failure { _ = try await bench.login(with: .offline(Bench.password)) }?.code == .wrongSecret)
                #expect(try await bench.login(with: .offline("a new one for tea")).isOpen)
            }
        }
    }

    @Test func `when the vault key is old, then nothing is added`() async throws {
        try await withBench { bench in
            let old = try await bench.register().openVaultKey()
            let token = try await bench.signIn()
            try await bench.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: "another one for tea"))
            let account = try await bench.account()
            let accounts = try bench.vault.accounts
            let added = await failure {
                try await accounts.addPIN(SecretBytes(utf8: Bench.pin), to: account, vaultKey: old)
            }
            #expect(added?.code == .notLoggedIn)
            let changed = await failure {
                try await accounts.setPassword(SecretBytes(utf8: "a third one for tea"), of: account, vaultKey: old)
            }
            #expect(changed?.code == .notLoggedIn)
            #expect(try await bench.login(password: "another one for tea").isOpen)
        }
    }

    @Test func `when an account registers again, then keyslots and items stay`() async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.putNote()
            let code = try await bench.addRecoveryCode()
            try await bench.addPIN()
            let before = try await bench.account()
            let wrongPIN = try UnlockMethod.pin("9999")
            let token = try await bench.signIn()
            let wrong = await failure { try await bench.vault.storage.storeRefreshToken(token, with: wrongPIN) }
            #expect(wrong?.code == .wrongSecret)
            for method in [try UnlockMethod.pin(Bench.pin), .recoveryCode(code)] {
                let token = try await bench.signIn()
                let session = try await bench.vault.storage.storeRefreshToken(token, with: method)
                #expect(session.isOpen)
                #expect(try await bench.account().deviceSecret == before.deviceSecret)
                // After a wrong PIN, the PIN has a new key. All other data stays the same.
                let others = try await bench.account().keyslots.filter { $0.kind != .pin }
                #expect(others.map(\.id) == before.keyslots.filter { $0.kind != .pin }.map(\.id))
                #expect(try await bench.kinds() == ["password", "pin", "recovery"])
                #expect(try await bench.note(password: Bench.password) == [1, 2, 3])
                let stored = try await bench.vault.storage.storedRefreshToken(
                    userID: "alice", password: SecretBytes(utf8: Bench.password))
                #expect(stored.value == token.value)
            }
        }
    }

    @Test(arguments: [[UInt8]?.none, [0x43, 0x56, 1, 1]])
    func `when stored claims are damaged, then registering again works`(claims: [UInt8]?) async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.putNote()
            let id = try await bench.id()
            let damage: StoreChange = claims.map { .putItem(.idTokenClaims, $0) } ?? .removeItem(.idTokenClaims)
            try await bench.store.apply([damage], to: id)
            #expect(try await bench.note(password: Bench.password) == [1, 2, 3])
            let token = try await bench.signIn()
            try await bench.vault.storage.storeRefreshToken(
                token, withExistingPassword: SecretBytes(utf8: Bench.password))
            #expect(try await bench.note(password: Bench.password) == [1, 2, 3])
            try await bench.addPIN()
        }
    }

    @Test func `when a PIN opens, then its last use is noted`() async throws {
        try await withBench { bench in
            try await bench.register()
            let pin = try #require(try await bench.addPIN().keyslot(.pin))
            #expect(pin.lastUsedAt == nil)
            bench.clock.advance(by: 100)
            _ = try await bench.login(with: .pin(Bench.pin))
            try await bench.vault.accounts.renameKeyslot(pin.id, of: bench.id(), to: "mine")
            let after = try #require(try await bench.account().keyslot(.pin))
            #expect(after.lastUsedAt == bench.clock.now && after.label == "mine")
        }
    }
}
