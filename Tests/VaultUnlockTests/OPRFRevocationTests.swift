import Foundation
import KeyServiceClient
import Testing
import VaultCrypto
import VaultTesting

@testable import VaultStorage
@testable import VaultUnlock

/// A device that its owner revoked, and its unlock methods without the network.
struct OPRFRevocationTests {
    private func bench() async throws -> OPRFBench {
        let bench = OPRFBench()
        let vaultKey = try await bench.register()
        try await bench.accounts.addOffline(
            password: SharedSecret(SecretBytes(utf8: OPRFBench.password)), to: bench.account(), vaultKey: vaultKey)
        return bench
    }

    private func asks(_ bench: OPRFBench) async throws -> VaultError.Code? {
        let id = try await bench.account().id
        return await bench.failure { try await bench.accounts.requireNotRevoked(id) }
    }

    @Test func `when a device is revoked, then its offline keyslot goes`() async throws {
        for isRenewal in [false, true] {
            let bench = try await bench()
            bench.service.revoke(try await bench.slot().keyID)
            let code = isRenewal ? try await asks(bench) : await bench.failure()
            #expect(code == .deviceRevoked)
            #expect(try await bench.account().keyslot(.offline) == nil)
            #expect(try await bench.account().keyslot(.password) != nil, "it tells why it opens nothing")
            #expect(await bench.failure() == .deviceRevoked)
        }
    }

    @Test func `when a device is not revoked, then offline use stays`() async throws {
        let bench = try await bench()
        let key = try await bench.slot().keyID
        for _ in 1...5 { #expect(try await asks(bench) == nil) }
        #expect(bench.service.openGuesses(of: key) == 0)
        bench.service.isReachable = false
        #expect(try await asks(bench) == nil)
        bench.service.isReachable = true
        #expect(try await bench.account().keyslot(.offline) != nil)
        #expect(try await bench.login() == nil)
    }

    @Test func `when one key is revoked, then the offline keyslot stays`() async throws {
        let bench = try await bench()
        let account = try await bench.account()
        let vaultKey = try await bench.accounts.open(
            account, with: .password(SecretBytes(utf8: OPRFBench.password)))
        try await bench.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        let pin = try await bench.slot(.pin).keyID
        bench.service.revoke(pin)
        #expect(await bench.failure { try await bench.login(with: .pin(SecretBytes(utf8: "8068"))) } == .deviceRevoked)
        #expect(try await asks(bench) == nil)
        #expect(try await bench.account().keyslot(.offline) != nil)
        #expect(try await bench.login() == nil)
        bench.service.revoke(try await bench.slot().keyID)
        #expect(try await asks(bench) == .deviceRevoked)
        #expect(try await bench.account().keyslot(.offline) == nil)
    }

    @Test func `when a device is revoked, then no keyslot is added`() async throws {
        for way in ["pin", "recovery", "password"] {
            let bench = try await bench()
            let account = try await bench.account()
            let vaultKey = try await bench.accounts.open(
                account, with: .offline(SharedSecret(SecretBytes(utf8: OPRFBench.password))))
            bench.service.revoke(try await bench.slot().keyID)
            let code = await bench.failure {
                switch way {
                case "pin": try await bench.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
                case "recovery": _ = try await bench.accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
                default:
                    try await bench.accounts.setPassword(
                        SecretBytes(utf8: "another long password"), of: account, vaultKey: vaultKey)
                }
            }
            #expect(code == .deviceRevoked, "\(way)")
            #expect(try await bench.account().keyslots.map(\.kind) == [.password])
        }
    }

    /// An account that only a recovery code opens: none of its keys authenticates an answer from what is on the disk.
    private func withRecoveryOnly() async throws -> (OPRFBench, VaultKey, code: SharedSecret) {
        let bench = OPRFBench()
        let vaultKey = try await bench.register()
        let account = try await bench.account()
        let (code, slot) = try await bench.accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
        try await bench.accounts.add(slot, to: account, vaultKey: vaultKey)
        try await bench.accounts.removeKeyslot(bench.slot().id, of: account.id)
        return (bench, vaultKey, code)
    }

    // Row: the way `offline`, hardware with `--opens-offline`
    @Test func `when revocation is unproven, then only new unlock methods fail`() async throws {
        let (bench, vaultKey, code) = try await withRecoveryOnly()
        let account = try await bench.account()
        let key = try await bench.slot(.recovery).keyID
        func addPIN() async -> VaultError.Code? {
            await bench.failure {
                try await bench.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
            }
        }
        #expect(try await asks(bench) == nil)
        bench.service.revoke(key)
        #expect(await addPIN() == .keyServiceUnavailable)
        #expect(try await asks(bench) == nil, "a session goes on")
        #expect(try await bench.account().keyslots == account.keyslots, "nothing was deleted")
        #expect(await bench.failure { try await bench.login(with: .recoveryCode(code)) } == .deviceRevoked)
    }

    @Test func `when a recovery code lives, then a PIN is added`() async throws {
        let (bench, vaultKey, _) = try await withRecoveryOnly()
        let account = try await bench.account()
        bench.service.isReachable = false
        let refused = await bench.failure {
            try await bench.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        }
        #expect(refused == .keyServiceUnavailable)
        bench.service.isReachable = true
        try await bench.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        #expect(try await bench.account().keyslot(.pin) != nil)
    }

    @Test func `when answers lose their authentication, then adding a PIN fails`() async throws {
        let bench = try await bench()
        let account = try await bench.account()
        let vaultKey = try await bench.accounts.open(
            account, with: .password(SecretBytes(utf8: OPRFBench.password)))
        let forged = bench.restarted { base in StrippingService(base: base) }
        bench.service.revoke(try await bench.slot().keyID)
        let code = await forged.failure {
            try await forged.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        }
        #expect(code == .keyServiceUnavailable)
    }

    /// A confirmation is answered with nothing but a status. Anybody in the network can say that it arrived.
    @Test func `when the network fakes confirmations, then no PIN is added`() async throws {
        let bench = try await bench()
        let account = try await bench.account()
        let vaultKey = try await bench.accounts.open(
            account, with: .password(SecretBytes(utf8: OPRFBench.password)))
        let forged = bench.restarted { base in YesService(base: StrippingService(base: base)) }
        for slot in account.keyslots { bench.service.revoke(slot.keyID) }
        let code = await forged.failure {
            try await forged.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        }
        #expect(code == .keyServiceUnavailable)
        #expect(try await bench.account().keyslot(.pin) == nil)
    }

    @Test func `when a PIN is added, then proof costs no guess`() async throws {
        let bench = OPRFBench()
        let vaultKey = try await bench.register()
        let (account, key) = (try await bench.account(), try await bench.slot().keyID)
        try await bench.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        await bench.accounts.finishConfirming()
        #expect(bench.service.evaluations(of: key) == OPRFBench.evaluationsOfNewKey + 1)
        #expect(bench.service.openGuesses(of: key) == 0)
    }

    @Test func `when the service forgets keys, then a recent login suffices`() async throws {
        let (bench, vaultKey, code) = try await withRecoveryOnly()
        try await bench.accounts.setPassword(
            SecretBytes(utf8: "another long password"), of: bench.account(), vaultKey: vaultKey)
        bench.service.forget(try await bench.slot().keyID)
        let late = bench.restarted()
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
        let bench = try await bench()
        let account = try await bench.account()
        try await bench.store.withRecord(account.id.recordPrefix + "own-guesses") { $0 = nil }
        #expect(try await asks(bench) == nil)
        bench.service.revoke(try await bench.slot().keyID)
        #expect(try await asks(bench) == .deviceRevoked)
    }

    @Test func `when a device is proven alive, then no guess counts`() async throws {
        let bench = try await bench()
        try await bench.login()
        let (id, key) = (try await bench.account().id, try await bench.slot().keyID)
        let before = bench.service.evaluations(of: key)
        for _ in 1...3 {
            _ = try await bench.accounts.requireNotRevoked(id, needsProof: true)
            await bench.accounts.finishConfirming()
            #expect(bench.service.openGuesses(of: key) == 0)
        }
        #expect(bench.service.evaluations(of: key) == before + 1, "one guess for all proofs")
    }

    /// Answers to confirmations are not authenticated.
    @Test func `when the network fakes a revocation, then the device stays`() async throws {
        let bench = try await bench()
        let key = try await bench.slot().keyID
        let lied = bench.restarted { base in LyingService(base: base) }
        for _ in 1...5 { #expect(try await asks(lied) == nil) }
        #expect(try await bench.account().keyslot(.offline) != nil)
        bench.clock.advance(by: 3600)
        #expect(try await bench.login() == nil, "the questions were own guesses")
        #expect(bench.service.openGuesses(of: key) == 0)
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
