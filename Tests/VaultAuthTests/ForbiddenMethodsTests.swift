import CredentialVault
import Testing
import VaultAuth
import VaultDevelopment
import VaultTesting

/// What the machine's policy does to unlock methods that need no network, and to new unlock methods where it may be
/// hidden.
@Suite(.timeLimit(.minutes(1))) struct ForbiddenMethodsTests {
    private static let pin = "284617"

    @Test func `when policy forbids offline unlock methods, then login removes them`() async throws {
        try await withFixture { first in
            try await first.register()
            try await first.addOffline()
            let token = try ScriptedHardwareKey(pin: Self.pin)
            for opensOffline in [true, false] {
                try await first.vault.storage.enableBiometricAccess(
                    userID: "alice", password: SecretBytes(utf8: Fixture.password), using: token,
                    prompt: ScriptedPrompt(Self.pin), opensOffline: opensOffline)
            }
            let machine = VaultPolicy(allowedUnlockMethods: [.password, .pkcs11])
            let fixture = Fixture(first, try await first.anotherVault(machinePolicy: machine))
            var updates = fixture.vault.auth.sessionUpdates(replaying: false).makeAsyncIterator()
            try await fixture.login()
            let slots = try await fixture.account().keyslots
            #expect(
                slots.map(\.kind.rawValue).sorted() == ["password", "pkcs11"] && slots.allSatisfy(\.needsKeyService))
            var told: [Keyslot.Kind] = []
            while told.count < 2, let update = await updates.next() {
                guard update.event == .keyslotRemoved, let notice = update.notice else { continue }
                #expect(notice.description.contains("without the network. This unlock method was removed."))
                told.append(notice.keyslot)
            }
            #expect(Set(told) == [.offline, .pkcs11])
            // Without the policy it is still gone.
            #expect(await failure { _ = try await first.login(with: .offline(Fixture.password)) }?.code == .notEnrolled)
        }
    }

    @Test func `when a password change removes forbidden methods, then it succeeds`() async throws {
        try await withFixture { first in
            try await first.register()
            try await first.addOffline()
            let vault = try await first.anotherVault(machinePolicy: VaultPolicy(allowedUnlockMethods: [.password]))
            try await vault.storage.changePassword(
                userID: "alice", from: SecretBytes(utf8: Fixture.password), to: SecretBytes(utf8: "walrus violin 77"))
            #expect(try await first.kinds() == ["password"])
            try await first.login(password: "walrus violin 77")
        }
    }

    @Test func `when only the app forbids a method, then it stays`() async throws {
        try await withFixture { first in
            try await first.register()
            try await first.addOffline()
            try await first.under(VaultPolicy(allowedUnlockMethods: [.password])).login()
            #expect(try await first.kinds() == ["offline", "password"])
        }
    }

    /// The accounts as a program in a user namespace sees them: it finds no policy, or one that its user wrote.
    private func hidden(_ fixture: Fixture, _ policy: VaultPolicy? = nil) throws -> Accounts {
        var accounts = try fixture.vault.accounts
        accounts.obeyed = ObeyedPolicy(.standard, machine: policy)
        accounts.knowsAllUsers = false
        return accounts
    }

    @Test(arguments: [nil, VaultPolicy()])
    func `when policies may be hidden, then no method is added`(shown: VaultPolicy?) async throws {
        try await withFixture { first in
            try await first.register()
            let (account, key) = (try await first.account(), try await first.vaultKey())
            let (_, code) = try await first.vault.accounts.makeRecoveryKeyslot(for: account, vaultKey: key)
            try await Fixture(first, first.anotherVault(machinePolicy: VaultPolicy(minimumPINLength: 6))).login()
            let (accounts, calls) = (try hidden(first, shown), first.keyService.calls)
            let password = SharedSecret(try SecretBytes(utf8: Fixture.password))
            let token = try ScriptedHardwareKey(pin: Self.pin)
            let signedIn = try await first.signIn("bob")
            let attempts: [() async throws -> Void] = [
                { try await accounts.addPIN(SecretBytes(utf8: Self.pin), to: account, vaultKey: key) },
                { try await accounts.addOffline(password: password, to: account, vaultKey: key) },
                { _ = try await accounts.makeRecoveryKeyslot(for: account, vaultKey: key) },
                { try await accounts.add(code, to: account, vaultKey: key) },
                {
                    for opensOffline in [true, false] {
                        try await accounts.addHardware(
                            token, prompt: ScriptedPrompt(Self.pin), to: account, vaultKey: key,
                            opensOffline: opensOffline)
                    }
                },
                { try await accounts.setPassword(SecretBytes(utf8: "walrus violin 77"), of: account, vaultKey: key) },
                {
                    _ = try await accounts.register(
                        signedIn, newPassword: SecretBytes(utf8: Fixture.password), alias: nil, replacingItems: false)
                },
            ]
            for (number, attempt) in attempts.enumerated() {
                let error = await failure(attempt)
                #expect(error?.code == .forbiddenByPolicy, "\(number)")
                #expect(error?.description.contains("user namespace") == true)
            }
            #expect(first.keyService.calls == calls && token.calls.protect == 0)
            #expect(try await first.kinds() == ["password"])
            // What is there already still opens the account, and the note stays.
            #expect(
                try await accounts.open(account, with: .password(SecretBytes(utf8: Fixture.password))).isEqual(to: key))
            #expect(await failure(attempts[0])?.code == .forbiddenByPolicy)
        }
    }

    @Test func `when the machine's policy is removed, then its note goes`() async throws {
        try await withFixture { first in
            try await first.register()
            let (account, key) = (try await first.account(), try await first.vaultKey())
            try await Fixture(first, first.anotherVault(machinePolicy: VaultPolicy())).login()
            let accounts = try hidden(first)
            try await first.login()
            try await accounts.addPIN(SecretBytes(utf8: Self.pin), to: account, vaultKey: key)
            #expect(try await first.kinds() == ["password", "pin"])
        }
    }
}
