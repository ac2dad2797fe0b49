internal import KeyServiceClient
internal import Logging
internal import VaultBase
internal import VaultCrypto
package import VaultStorage

/// The key service's answer to the question whether the owner revoked this device.
package enum RevocationAnswer: Sendable, Hashable {
    /// The owner did not revoke it.
    ///
    /// - isProven: whether the answer is authenticated, or no key of the account could get one that is.
    case live(isProven: Bool)
    /// The owner did not revoke it, and no guess is left. This answer is always authenticated, except after
    /// ``Accounts/recheckLocks(of:asksAll:within:)`` in the ten seconds after a lock.
    case locked
    /// The owner revoked it. This answer is always authenticated.
    case revoked
    /// Somebody says that the owner revoked it, and nothing authenticates that. So it ends and deletes nothing.
    case unproven
    /// The keys that can be asked have ended. Somebody with the disk can end them, and the owner can then no longer
    /// revoke them. So this is no proof that the owner did not want to.
    case ended
    /// The key service does not answer.
    case none
}

// A device that its owner revoked opens nothing any more, also without the network.
extension Accounts {
    /// The time for which a login proves that this device was not revoked.
    private static let timeOfProof = Duration.seconds(300)

    /// Removes the unlock methods that need no key service, if the owner revoked this device: if all keys that the key
    /// service can be asked about are revoked. An operator can also revoke one key alone.
    func removeOfflineKeyslots(of account: Account, known: Keyslot) async {
        if account.askable.isEmpty {
            // Nothing proves the state of a key of hardware but a login with that hardware.
            let refused = await refusedKeyslots(of: account)
            for slot in account.keyslots where slot.needsKeyService && slot.id != known.id {
                guard refused[slot.id] == .revoked else { return }
            }
        }
        for slot in account.askable where slot.id != known.id {
            guard let keys = try? keys(of: slot, account),
                case .revoked = await keys.answer(about: slot, of: account, needsProof: false)
            else { return }
        }
        await removeOfflineKeyslots(of: account)
    }

    private func removeOfflineKeyslots(of account: Account) async {
        await noteRevocation(of: account)
        // In a new task: a cancelled caller must not leave them.
        await Task {
            try? await withLock(on: account.id) { _ in
                // The answers are not about an account that was registered again meanwhile.
                guard let now = try await store.account(account.id), now.deviceSecret == account.deviceSecret else {
                    return
                }
                let offline = now.keyslots.filter { !$0.needsKeyService }
                guard !offline.isEmpty else { return }
                _ = try await apply(
                    offline.map { .removeKeyslot(id: $0.id) }, to: account.id, retiringKeysOf: now)
                logger.notice(
                    "removed the unlock methods without the network: the device was revoked",
                    metadata: account.id.logMetadata)
            }
        }.value
    }

    /// Notes the revocation also for recovery codes and hardware, so that each later message is about the whole account.
    /// The answers about their keys are not authenticated, but the answer about a password or PIN was. If an operator
    /// revoked only the keys of the password and PIN, the other unlock methods stay usable.
    private func noteRevocation(of account: Account) async {
        guard !account.askable.isEmpty else { return }
        for slot in account.keyslots where slot.isOPRF && !slot.kind.isGuessable {
            guard case .unproven = await answer(about: slot, of: account, needsProof: false) else { continue }
            try? await KeyslotNotes(store: store, account: account.id).note(
                KeyServiceError(.keyRevoked, "This device was revoked."), for: slot, of: account, now: clock.now)
        }
    }

    /// Asks the key service whether the owner revoked this device.
    ///
    /// - Parameters:
    ///   - needsAnswer: whether a key service that does not answer is an error.
    ///   - needsProof: whether only an authenticated answer counts, where there can be one.
    /// - Throws: ``VaultError`` with code `deviceRevoked`: the unlock methods without the network were removed.
    ///   Register again. With code `keyServiceUnavailable`: try again later.
    @discardableResult
    package func requireNotRevoked(
        _ id: AccountID, needsAnswer: Bool = false, needsProof: Bool = false
    ) async throws -> RevocationAnswer {
        guard let account = try? await store.account(id) else { return .none }
        let answer = await answer(about: account, needsProof: needsProof)
        switch answer {
        case .revoked:
            await removeOfflineKeyslots(of: account)
            throw VaultError.deviceRevoked
        case .none where needsAnswer && Task.isCancelled: throw VaultError(.cancelled, "Cancelled.")
        case .none where needsAnswer:
            throw VaultError(
                .keyServiceUnavailable,
                "The key service does not answer. It must say first that this device was not revoked. Try again later.")
        case .unproven where needsAnswer:
            throw VaultError(
                .keyServiceUnavailable,
                "The key service's answer says that this device was revoked, but nothing proves that the answer comes from the key service. No unlock method was added. Log in again, then try again."
            )
        case .ended where needsAnswer && !hasJustProven(id):
            throw VaultError(
                .keyMissing,
                "The keys of this account have ended, so the key service cannot say whether this device was revoked. No unlock method was added. Log in with another unlock method, then try again."
            )
        case .live(isProven: false) where needsAnswer && needsProof && !hasJustProven(id):
            throw VaultError(
                .keyServiceUnavailable,
                "The answer says that the key service does not know the keys of this account, but nothing proves that the answer comes from the key service. No unlock method was added. Log in with another unlock method, then try again."
            )
        default: return answer
        }
    }

    /// Refuses a new unlock method on a device that the owner revoked. Otherwise an open session could make itself a
    /// new key there, which the owner's list does not show.
    ///
    /// - Throws: ``VaultError`` with code `deviceRevoked` or `keyServiceUnavailable`.
    func requireMayAddKeyslot(to account: Account) async throws {
        try await requirePolicyInSight()
        try requireAllowedServers(of: account)
        // Throws if this program lacks the version of a key. Otherwise the error would be that nobody answers.
        for slot in account.keyslots { _ = try keys(of: slot, account) }
        // Somebody in the network could say yes to a confirmation that is sent again.
        try await requireNotRevoked(account.id, needsAnswer: true, needsProof: true)
    }

    /// Whether a key at the key service opened the account in this process a short time ago. If the key service lost
    /// the keys of the password and the PIN, such a login with another unlock method proves that this device was not
    /// revoked.
    private func hasJustProven(_ id: AccountID) -> Bool {
        history.proof(of: id).map { steady.now() - $0 < Self.timeOfProof } ?? false
    }

    /// Whether the key service said earlier that the owner revoked this device. Then the unlock methods without the
    /// network are gone, and the person must learn why.
    func isKnownRevoked(_ account: Account) async -> Bool {
        let refused = await refusedKeyslots(of: account)
        return !account.askable.isEmpty && account.askable.allSatisfy { refused[$0.id] == .revoked }
    }

    // MARK: - Asking

    /// Asks about the keys of an account. The question costs no guess.
    private func answer(about account: Account, needsProof: Bool) async -> RevocationAnswer {
        await within(timeout, timer) { await asked(about: account, needsProof: needsProof) } ?? .none
    }

    /// The keys of the password and the PIN decide, because their answers can be authenticated. Without them, the keys
    /// of hardware and of the recovery code are asked by a confirmation sent again, whose answer is not authenticated.
    private func asked(about account: Account, needsProof: Bool) async -> RevocationAnswer {
        let slots = account.keyslots.filter { $0.isOPRF }
        guard !slots.isEmpty else { return .live(isProven: true) }
        guard account.askable.isEmpty else {
            var unproven: RevocationAnswer?
            var hasEnded = false
            for slot in account.askable {
                let answer = await answer(about: slot, of: account, needsProof: needsProof)
                switch answer {
                case .revoked: continue
                case .ended: hasEnded = true
                // Perhaps another key can prove it.
                case .live(isProven: false) where needsProof: unproven = answer
                // A key of a version that this program does not have must not hide the others.
                case .none where (try? keys(of: slot, account)) == nil: unproven = unproven ?? answer
                default: return answer
                }
            }
            return unproven ?? (hasEnded ? .ended : .revoked)
        }
        var isSilent = false
        for slot in slots {
            switch await answer(about: slot, of: account, needsProof: needsProof) {
            case .live, .locked: return .live(isProven: true)
            case .none: isSilent = true
            case .revoked, .unproven, .ended: break
            }
        }
        return isSilent ? .none : .unproven
    }

    func answer(about slot: Keyslot, of account: Account, needsProof: Bool) async -> RevocationAnswer {
        await (try? keys(of: slot, account))?.answer(about: slot, of: account, needsProof: needsProof) ?? .none
    }
}

extension VaultError {
    /// The error of a new unlock method if no person gave a secret a short time ago.
    package static var secretRequired: VaultError {
        VaultError(
            .secretRequired,
            "A new unlock method needs the password or another secret of the account. Ask for it, then try again."
        )
    }

    /// The error of every unlock method after the owner revoked this device.
    static var deviceRevoked: VaultError {
        VaultError(
            .deviceRevoked, "This device was revoked. If no other unlock method works, register again.")
    }
}

extension Account {
    /// The keyslots whose answers can be authenticated: what authenticates their requests is on the disk.
    var askable: [Keyslot] {
        keyslots.filter { $0.isOPRF && $0.kind.isGuessable }
    }
}
