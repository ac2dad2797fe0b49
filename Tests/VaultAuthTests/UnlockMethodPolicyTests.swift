import CredentialVault
import Testing
import VaultAuth
import VaultDevelopment
import VaultTesting

/// A policy's rules for unlock methods.
@Suite(.timeLimit(.minutes(1))) struct UnlockMethodPolicyTests {
    private static let pin = "284617"

    @Test func `when an unlock method is forbidden, then adding it fails`() async throws {
        try await withFixture { first in
            try await first.register()
            let key = try await first.vaultKey()
            let (_, made) = try await first.vault.accounts.makeRecoveryKeyslot(
                for: first.account(), vaultKey: key)
            let fixture = try await first.under(VaultPolicy(allowedUnlockMethods: [.password, .fido2]))
            let (storage, account) = (fixture.vault.storage, try await fixture.account())
            let (accounts, calls) = (try fixture.vault.accounts, fixture.keyService.calls)
            let token = try ScriptedHardwareKey(pin: Self.pin)
            let password = SharedSecret(try SecretBytes(utf8: Fixture.password))
            let refusals: [(String, VaultError?)] = [
                ("pin", await failure { try await fixture.addPIN(Self.pin) }),
                (
                    "recovery",
                    await failure { _ = try await accounts.makeRecoveryKeyslot(for: account, vaultKey: key) }
                ),
                ("recovery", await failure { try await accounts.add(made, to: account, vaultKey: key) }),
                (
                    "offline",
                    await failure { try await accounts.addOffline(password: password, to: account, vaultKey: key) }
                ),
                (
                    "pkcs11",
                    await failure {
                        try await storage.enableBiometricAccess(
                            userID: "alice", password: password.bytes, using: token, prompt: ScriptedPrompt(Self.pin))
                    }
                ),
                (
                    "offline",
                    await failure {
                        try await accounts.addHardware(
                            ScriptedHardwareKey(kind: "fido2", pin: Self.pin), prompt: ScriptedPrompt(Self.pin),
                            to: account,
                            vaultKey: key, opensOffline: true)
                    }
                ),
            ]
            for (kind, error) in refusals {
                #expect(error?.code == .forbiddenByPolicy)
                #expect(
                    error?.description == "The policy forbids this unlock method: \(kind). It allows: fido2, password.")
                let objection = error?.policyObjection
                #expect(objection?.rule == .allowedUnlockMethods && objection?.refused == kind)
                #expect(objection?.allowed == ["fido2", "password"] && objection?.number == nil)
            }
            #expect(fixture.keyService.calls == calls && token.calls.protect == 0)
            #expect(try await fixture.kinds() == ["password"])
        }
    }

    @Test func `when an unlock method is forbidden, then it opens nothing`() async throws {
        try await withFixture { first in
            try await first.register()
            try await first.addPIN(Self.pin)
            try await first.addOffline()
            let code = try await first.addRecoveryCode()
            let token = try ScriptedHardwareKey(pin: Self.pin)
            try await first.vault.storage.enableBiometricAccess(
                userID: "alice", password: SecretBytes(utf8: Fixture.password), using: token,
                prompt: ScriptedPrompt(Self.pin), opensOffline: true)
            let methods: [UnlockMethod] = [
                try .password(SecretBytes(utf8: Fixture.password)), try .pin(Self.pin), .recoveryCode(code),
                try .offline(Fixture.password), .hardware(token, ScriptedPrompt(Self.pin)),
            ]
            for method in methods {
                let others = Set(methods.map(\.kind)).subtracting([method.kind])
                let fixture = try await first.under(VaultPolicy(allowedUnlockMethods: others))
                let (calls, unprotects) = (fixture.keyService.calls, token.calls.unprotect)
                #expect(await failure { _ = try await fixture.login(with: method) }?.code == .forbiddenByPolicy)
                #expect(fixture.keyService.calls == calls && token.calls.unprotect == unprotects)
                // The unlock method works when the policy allows it.
                #expect(try await first.login(with: method).isOpen, "\(method.kind)")
            }
            // Hardware that needs no key service works without the network.
            let fixture = try await first.under(VaultPolicy(allowedUnlockMethods: [.password, .pkcs11]))
            let error = await failure { _ = try await fixture.login(with: methods[4]) }
            #expect(error?.code == .forbiddenByPolicy && error?.description.contains("offline") == true)
        }
    }

    @Test func `when passwords are forbidden, then registering fails`() async throws {
        try await withFixture { first in
            let fixture = try await first.under(VaultPolicy(allowedUnlockMethods: [.tpm2]))
            #expect(await failure { try await fixture.register() }?.code == .forbiddenByPolicy)
            #expect(fixture.keyService.calls == 0)
            #expect(try await fixture.store.accounts().isEmpty)
        }
    }

    @Test func `when an offline keyslot is forbidden, then no fallback opens`() async throws {
        try await withFixture { first in
            try await first.register()
            try await first.addOffline()
            let fixture = try await first.under(VaultPolicy(allowedUnlockMethods: [.password]))
            #expect(try await fixture.vault.accounts.endOfOpeningOffline(fixture.account()) == nil)
            await fixture.provider.setFault(.status(503))
            #expect(await failure { try await fixture.login() }?.code == .identityProviderUnavailable)
            fixture.keyService.isReachable = false
            #expect(await failure { try await fixture.login() }?.code == .keyServiceUnavailable)
            #expect(try await first.login().isOffline)
        }
    }

    @Test func `when the last allowed unlock method goes, then removal fails`() async throws {
        try await withFixture { first in
            try await first.register()
            let account = try await first.addPIN(Self.pin)
            let fixture = try await first.under(VaultPolicy(allowedUnlockMethods: [.password]))
            let accounts = try fixture.vault.accounts
            let password = try #require(account.passwordKeyslot)
            #expect(
                await failure { try await accounts.removeKeyslot(password.id, of: account.id) }?.code
                    == .lastUnlockMethod)
            // A forbidden unlock method can be removed.
            try await fixture.vault.storage.removePIN(account.id)
            #expect(try await fixture.kinds() == ["password"])
        }
    }

    @Test func `when the two policies differ, then the stricter one counts`() async throws {
        try await withFixture { fixture in
            let vault = try await fixture.anotherVault(
                policy: VaultPolicy(minimumPINLength: 1, minimumPasswordLength: 20, maximumOfflineDays: 9),
                machinePolicy: VaultPolicy(minimumPINLength: 6, minimumPasswordLength: 1, allowedUnlockMethods: [.pin]))
            #expect(
                try vault.accounts.policy
                    == VaultPolicy(
                        minimumPINLength: 6, minimumPasswordLength: 20, maximumOfflineDays: 9,
                        allowedUnlockMethods: [.pin]))
        }
    }
}

/// The time for which an account opens without the network.
@Suite(.timeLimit(.minutes(1))) struct OfflinePolicyTests {
    @Test(arguments: [
        (3, 3, "The policy allows 3 days. Connect to the network, and log in with another unlock method."),
        (1, 1, "The policy allows 1 day. Connect to the network, and log in with another unlock method."),
        (30, 14, "to open it without the network. Connect to the network, and log in with another unlock method."),
    ])
    func `when policy and settings differ, then the shorter time counts`(
        policy: Int, days: Double, advice: String
    ) async throws {
        try await withFixture { first in
            try await first.register()
            try await first.addOffline()
            let token = try ScriptedHardwareKey(pin: "123456")
            try await first.vault.storage.enableBiometricAccess(
                userID: "alice", password: SecretBytes(utf8: Fixture.password), using: token,
                prompt: ScriptedPrompt("123456"), opensOffline: true)
            let fixture = try await first.under(VaultPolicy(maximumOfflineDays: policy))
            let methods: [UnlockMethod] = [
                try .offline(Fixture.password), .hardware(token, ScriptedPrompt("123456")),
            ]
            // A session that was opened at the very end would be over at once.
            fixture.clock.advance(by: days * 86_400 - 60)
            for method in methods {
                #expect(try await fixture.vault.auth.unlock(userID: "alice", with: method).isOpen)
            }
            fixture.clock.advance(by: 61)
            for method in methods {
                let error = await failure { try await fixture.vault.auth.unlock(userID: "alice", with: method) }
                #expect(error?.code == .offlineTooLong)
                #expect(error?.description.hasSuffix(advice) == true)
                // Only a rule of the policy is an objection of it. The person may change a setting.
                #expect(error?.policyObjection?.rule == (policy <= 14 ? .maximumOfflineDays : nil))
                #expect(error?.policyObjection?.number == (policy <= 14 ? policy : nil))
            }
        }
    }
}
