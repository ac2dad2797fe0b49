import Foundation
import KeyServiceClient
import Testing
import VaultCrypto
import VaultTesting

@testable import VaultStorage
@testable import VaultUnlock

/// A device that its owner revoked, and its unlock methods without the network.
struct OPRFRevocationTests {
    private func fixture() async throws -> OPRFFixture {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        try await fixture.accounts.addOffline(
            password: SharedSecret(SecretBytes(utf8: OPRFFixture.password)), to: fixture.account(), vaultKey: vaultKey)
        return fixture
    }

    private func asks(_ fixture: OPRFFixture) async throws -> VaultError.Code? {
        let id = try await fixture.account().id
        return await fixture.failure { try await fixture.accounts.requireNotRevoked(id) }
    }

    @Test func `when a device is revoked, then its offline keyslot goes`() async throws {
        for isRenewal in [false, true] {
            let fixture = try await fixture()
            fixture.service.revoke(try await fixture.slot().keyID)
            let code = isRenewal ? try await asks(fixture) : await fixture.failure()
            #expect(code == .deviceRevoked)
            #expect(try await fixture.account().keyslot(.offline) == nil)
            #expect(try await fixture.account().keyslot(.password) != nil, "it tells why it opens nothing")
            #expect(await fixture.failure() == .deviceRevoked)
        }
    }

    @Test func `when a device is not revoked, then offline use stays`() async throws {
        let fixture = try await fixture()
        let key = try await fixture.slot().keyID
        for _ in 1...5 { #expect(try await asks(fixture) == nil) }
        #expect(fixture.service.openGuesses(of: key) == 0)
        fixture.service.isReachable = false
        #expect(try await asks(fixture) == nil)
        fixture.service.isReachable = true
        #expect(try await fixture.account().keyslot(.offline) != nil)
        #expect(try await fixture.login() == nil)
    }

    @Test func `when one key is revoked, then the offline keyslot stays`() async throws {
        let fixture = try await fixture()
        let account = try await fixture.account()
        let vaultKey = try await fixture.accounts.open(
            account, with: .password(SecretBytes(utf8: OPRFFixture.password)))
        try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        let pin = try await fixture.slot(.pin).keyID
        fixture.service.revoke(pin)
        #expect(
            await fixture.failure { try await fixture.login(with: .pin(SecretBytes(utf8: "8068"))) } == .deviceRevoked)
        #expect(try await asks(fixture) == nil)
        #expect(try await fixture.account().keyslot(.offline) != nil)
        #expect(try await fixture.login() == nil)
        fixture.service.revoke(try await fixture.slot().keyID)
        #expect(try await asks(fixture) == .deviceRevoked)
        #expect(try await fixture.account().keyslot(.offline) == nil)
    }

    @Test func `when a device is revoked, then no keyslot is added`() async throws {
        for way in ["pin", "recovery", "password"] {
            let fixture = try await fixture()
            let account = try await fixture.account()
            let vaultKey = try await fixture.accounts.open(
                account, with: .offline(SharedSecret(SecretBytes(utf8: OPRFFixture.password))))
            fixture.service.revoke(try await fixture.slot().keyID)
            let code = await fixture.failure {
                switch way {
                case "pin":
                    try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
                case "recovery": _ = try await fixture.accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
                default:
                    try await fixture.accounts.setPassword(
                        SecretBytes(utf8: "another long password"), of: account, vaultKey: vaultKey)
                }
            }
            #expect(code == .deviceRevoked, "\(way)")
            #expect(try await fixture.account().keyslots.map(\.kind) == [.password])
        }
    }

    /// An account that only a recovery code opens: none of its keys authenticates an answer from what is on the disk.
    private func withRecoveryOnly() async throws -> (OPRFFixture, VaultKey, code: SharedSecret) {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let account = try await fixture.account()
        let (code, slot) = try await fixture.accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
        try await fixture.accounts.add(slot, to: account, vaultKey: vaultKey)
        try await fixture.accounts.removeKeyslot(fixture.slot().id, of: account.id)
        return (fixture, vaultKey, code)
    }

    // Row: the method `offline`, hardware with `--opens-offline`
    @Test func `when revocation is unproven, then only new unlock methods fail`() async throws {
        let (fixture, vaultKey, code) = try await withRecoveryOnly()
        let account = try await fixture.account()
        let key = try await fixture.slot(.recovery).keyID
        func addPIN() async -> VaultError.Code? {
            await fixture.failure {
                try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
            }
        }
        #expect(try await asks(fixture) == nil)
        fixture.service.revoke(key)
        #expect(await addPIN() == .keyServiceUnavailable)
        #expect(try await asks(fixture) == nil, "a session goes on")
        #expect(try await fixture.account().keyslots == account.keyslots, "nothing was deleted")
        #expect(await fixture.failure { try await fixture.login(with: .recoveryCode(code)) } == .deviceRevoked)
    }

    @Test func `when only the recovery key lives, then adding PINs works`() async throws {
        let (fixture, vaultKey, _) = try await withRecoveryOnly()
        let account = try await fixture.account()
        fixture.service.isReachable = false
        let refused = await fixture.failure {
            try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        }
        #expect(refused == .keyServiceUnavailable)
        fixture.service.isReachable = true
        try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        #expect(try await fixture.account().keyslot(.pin) != nil)
    }

    @Test func `when answers lose their authentication, then adding a PIN fails`() async throws {
        let fixture = try await fixture()
        let account = try await fixture.account()
        let vaultKey = try await fixture.accounts.open(
            account, with: .password(SecretBytes(utf8: OPRFFixture.password)))
        let forged = fixture.restarted { base in StrippingService(base: base) }
        fixture.service.revoke(try await fixture.slot().keyID)
        let code = await forged.failure {
            try await forged.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        }
        #expect(code == .keyServiceUnavailable)
        #expect(try await fixture.account().keyslot(.pin) == nil)
    }

    /// A confirmation is answered with nothing but a status. Anybody in the network can say that it arrived.
    @Test func `when the network fakes confirmations, then no PIN is added`() async throws {
        let fixture = try await fixture()
        let account = try await fixture.account()
        let vaultKey = try await fixture.accounts.open(
            account, with: .password(SecretBytes(utf8: OPRFFixture.password)))
        let forged = fixture.restarted { base in YesService(base: StrippingService(base: base)) }
        for slot in account.keyslots { fixture.service.revoke(slot.keyID) }
        let code = await forged.failure {
            try await forged.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        }
        #expect(code == .keyServiceUnavailable)
        #expect(try await fixture.account().keyslot(.pin) == nil)
    }

    @Test func `when a PIN is added, then proof costs no guess`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let (account, key) = (try await fixture.account(), try await fixture.slot().keyID)
        try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        await fixture.accounts.finishConfirming()
        #expect(fixture.service.evaluations(of: key) == OPRFFixture.evaluationsOfNewKey + 1)
        #expect(fixture.service.openGuesses(of: key) == 0)
    }

    @Test func `when the service forgets keys, then a recent login suffices`() async throws {
        let (fixture, vaultKey, code) = try await withRecoveryOnly()
        try await fixture.accounts.setPassword(
            SecretBytes(utf8: "another long password"), of: fixture.account(), vaultKey: vaultKey)
        fixture.service.forget(try await fixture.slot().keyID)
        let late = fixture.restarted()
        func addPIN() async -> VaultError.Code? {
            await late.failure {
                try await late.accounts.addPIN(SecretBytes(utf8: "8068"), to: late.account(), vaultKey: vaultKey)
            }
        }
        #expect(await addPIN() == .keyServiceUnavailable)
        #expect(try await late.login(with: .recoveryCode(code)) == nil)
        #expect(await addPIN() == nil)
    }

    @Test func `when the confirmation record is gone, then revocation still shows`() async throws {
        let fixture = try await fixture()
        let account = try await fixture.account()
        try await fixture.store.withRecord(account.id.recordPrefix + "own-guesses") { $0 = nil }
        #expect(try await asks(fixture) == nil)
        fixture.service.revoke(try await fixture.slot().keyID)
        #expect(try await asks(fixture) == .deviceRevoked)
    }

    @Test func `when revocation is disproven, then no guess counts`() async throws {
        let fixture = try await fixture()
        try await fixture.login()
        let (id, key) = (try await fixture.account().id, try await fixture.slot().keyID)
        let before = fixture.service.evaluations(of: key)
        for _ in 1...3 {
            _ = try await fixture.accounts.requireNotRevoked(id, needsProof: true)
            await fixture.accounts.finishConfirming()
            #expect(fixture.service.openGuesses(of: key) == 0)
        }
        #expect(fixture.service.evaluations(of: key) == before + 1, "one guess for all proofs")
    }

    /// Answers to confirmations are not authenticated.
    @Test func `when the network fakes a revocation, then the device stays`() async throws {
        let fixture = try await fixture()
        let key = try await fixture.slot().keyID
        let lied = fixture.restarted { base in LyingService(base: base) }
        for _ in 1...5 { #expect(try await asks(lied) == nil) }
        #expect(try await fixture.account().keyslot(.offline) != nil)
        fixture.clock.advance(by: 3600)
        #expect(try await fixture.login() == nil, "the questions were own guesses")
        #expect(fixture.service.openGuesses(of: key) == 0)
    }
}

/// A key service that calls each key revoked when it gets a confirmation.
private struct LyingService: WrappedOPRFService {
    let base: any OPRFKeyService

    func confirm(_ confirmation: KeyConfirmation) async throws {
        throw KeyServiceError(.keyRevoked, "This device was revoked.")
    }
}

/// A gateway that removes what authenticates an evaluation.
private struct StrippingService: WrappedOPRFService {
    let base: any OPRFKeyService

    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        throw KeyServiceError(.invalidAnswer, "The answer does not come from the key service.")
    }
}

/// Somebody in the network who says yes to each confirmation.
private struct YesService: WrappedOPRFService {
    let base: any OPRFKeyService

    func confirm(_ confirmation: KeyConfirmation) async throws {}
}
