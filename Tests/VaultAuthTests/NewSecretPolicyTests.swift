import CredentialVault
import Testing
import VaultAuth
import VaultDevelopment
import VaultTesting

extension Fixture {
    /// The same fixture with the app's policy.
    func under(_ policy: VaultPolicy) async throws -> Fixture { Fixture(self, try await anotherVault(policy: policy)) }
}

/// A policy's rules for new secrets.
@Suite(.timeLimit(.minutes(1))) struct NewSecretPolicyTests {
    private static let strict = VaultPolicy(minimumPINLength: 6, minimumPasswordLength: 12)

    @Test(arguments: [(VaultPolicy.standard, "1", 4), (strict, "28461", 6)])
    func `when a PIN is too short, then policy refuses it`(
        policy: VaultPolicy, pin: String, least: Int
    ) async throws {
        try await withFixture { first in
            try await first.register()
            let key = try await first.vaultKey()
            let fixture = try await first.under(policy)
            let (account, calls) = (try await fixture.account(), fixture.keyService.calls)
            let refusals = [
                await failure { try await fixture.addPIN(pin) },
                await failure {
                    try await fixture.vault.accounts.addPIN(
                        SecretBytes(utf8: pin), to: account, vaultKey: key)
                },
            ]
            for error in refusals {
                #expect(error?.code == .forbiddenByPolicy)
                #expect(
                    error?.description
                        == "The PIN is too short. It needs at least \(least) characters.")
                #expect(error?.objection?.code == .tooShort && error?.objection?.secret == .pin)
                #expect(error?.objection?.least == least)
                #expect(error?.policyObjection?.rule == .minimumPINLength && error?.policyObjection?.number == least)
            }
            #expect(fixture.keyService.calls == calls)
            #expect(try await fixture.kinds() == ["password"])
            try await fixture.addPIN("284617")
            #expect(try await fixture.login(with: .pin("284617")).isOpen)
        }
    }

    @Test func `when a password is too short, then policy refuses it`() async throws {
        try await withFixture { first in
            try await first.register()
            let key = try await first.vaultKey()
            let fixture = try await first.under(Self.strict)
            let storage = fixture.vault.storage
            let (account, calls) = (try await fixture.account(), fixture.keyService.calls)
            let bob = try await fixture.signIn("bob")
            let refusals = [
                await failure {
                    try await storage.changePassword(
                        userID: "alice", from: SecretBytes(utf8: "not the password"),
                        to: SecretBytes(utf8: "eleven char"))
                },
                await failure {
                    try await fixture.vault.accounts.setPassword(
                        SecretBytes(utf8: "eleven char"), of: account, vaultKey: key)
                },
                await failure {
                    try await storage.storeRefreshToken(bob, withNewPassword: SecretBytes(utf8: "eleven char"))
                },
            ]
            for error in refusals {
                #expect(error?.code == .forbiddenByPolicy)
                #expect(error?.description == "The password is too short. It needs at least 12 characters.")
                #expect(error?.objection?.code == .tooShort && error?.objection?.least == 12)
                #expect(error?.policyObjection?.rule == .minimumPasswordLength)
                #expect(error?.policyObjection?.number == 12)
            }
            #expect(fixture.keyService.calls == calls)
            #expect(try await fixture.store.accounts() == [account])
            // The refusal keeps the sign-in.
            try await storage.storeRefreshToken(bob, withNewPassword: SecretBytes(utf8: "twelve chars"))
        }
    }

    @Test func `when a stored secret breaks policy, then it still opens`() async throws {
        try await withFixture { fixture in
            try await fixture.register(password: "tea at four")
            let account = try await fixture.account()
            let open = { try await fixture.vault.accounts.open(account, with: $0) }
            let key = try await open(.password(SecretBytes(utf8: "tea at four")))
            try await fixture.vault.accounts.addPIN(SecretBytes(utf8: "2846"), to: account, vaultKey: key)
            let strict = try await fixture.under(Self.strict)
            #expect(try await strict.login(password: "tea at four").isOpen)
            #expect(try await strict.login(with: .pin("2846")).isOpen)
            // After wrong guesses the keyslot gets a new key, with the same secret.
            let old = try await strict.account().keyslot(.pin)?.keyID
            #expect(await failure { _ = try await strict.login(with: .pin("2847")) }?.code == .wrongSecret)
            #expect(try await strict.login(with: .pin("2846")).isOpen)
            #expect(try await strict.account().keyslot(.pin)?.keyID != old)
        }
    }

    @Test func `when a secret is empty, then the error says so`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addPIN()
            let calls = fixture.keyService.calls
            let errors: [(VaultError?, String)] = [
                (await failure { try await fixture.addPIN("") }, "The PIN is empty."),
                (await failure { _ = try await fixture.login(with: .pin("")) }, "The PIN is empty."),
                (
                    await failure { _ = try await fixture.login(with: .pin("28\t46")) },
                    "The PIN has a forbidden character, such as a control character."
                ),
                (await failure { try await fixture.login(password: "") }, "The password is empty."),
                (
                    await failure {
                        try await fixture.vault.storage.changePassword(
                            userID: "alice", from: SecretBytes(utf8: Fixture.password), to: SecretBytes(utf8: ""))
                    }, "The password is empty."
                ),
            ]
            for (error, text) in errors {
                #expect(error?.code == .passwordUnusable && error?.description == text)
                #expect(error?.objection?.code == (text.contains("empty") ? .empty : .forbiddenCharacter))
                #expect(error?.objection?.secret == (text.contains("PIN") ? .pin : .password))
            }
            #expect(fixture.keyService.calls == calls)
        }
    }

    @Test func `when a PIN protects a TPM, then policy judges it`() async throws {
        try await withFixture { first in
            try await first.register()
            let fixture = try await first.under(Self.strict)
            func add(_ kind: String, _ pin: String) async throws {
                try await fixture.vault.storage.enableBiometricAccess(
                    userID: "alice", password: SecretBytes(utf8: Fixture.password),
                    using: ScriptedHardwareKey(kind: kind, pin: pin), prompt: ScriptedPrompt(pin))
            }
            #expect(await failure { try await add("tpm2", "28461") }?.code == .forbiddenByPolicy)
            #expect(await failure { try await add("tpm2", "") }?.description == "The PIN is empty.")
            try await add("tpm2", "284617")
            try await add("pkcs11", "2846")
            #expect(try await fixture.kinds() == ["password", "pkcs11", "tpm2"])
        }
    }
}
