internal import KeyServiceClient
internal import VaultBase
package import VaultStorage

// Why an account does not open, in words for the person.
extension Accounts {
    /// Notes the key service's answer, and returns the error for the person whom it refused. The error names only
    /// unlock methods that the key service did not refuse, too, and says whose guesses locked a key.
    func refusal(_ error: KeyServiceError, at slot: Keyslot, of account: Account) async -> VaultError {
        await note(error, at: slot, of: account)
        let refused = await refusedKeyslots(of: account)
        let others = account.keyslots.filter { refused[$0.id] == nil && $0.id != slot.id }.map(\.kind)
        var lock: CauseOfLock?
        if error.code == .keyLocked, slot.isOPRF {
            let guesses = OwnGuesses(store: store, account: account.id)
            lock = (try? await guesses.unfinished(at: slot.keyID)).map(CauseOfLock.init)
            if case .elsewhere(let count) = lock {
                // The state of the account shows it, also after a login with another unlock method.
                let notice = AccountNotice.guessesElsewhere(count, last: nil, at: slot, of: account.id, .none)
                try? await KeyslotNotes(store: store, account: account.id).note(notice, toldAt: clock.now)
            }
        }
        return VaultError(error, secret: slot.kind, others: others, lock: lock)
    }

    /// Notes the key service's answer. An error of the store must not hide that answer.
    private func note(_ error: KeyServiceError, at slot: Keyslot, of account: Account) async {
        try? await KeyslotNotes(store: store, account: account.id).note(
            error, for: slot, of: account, now: clock.now)
        guard error.code == .wrongSecret, slot.kind.isTyped else { return }
        try? await KeyslotNotes(store: store, account: account.id).noteWrong(slot)
    }

    /// Returns the reasons why the key service refused keys at the last guesses on this machine, by the id of the
    /// keyslot. It does not ask the key service.
    package func refusedKeyslots(of account: Account) async -> [String: KeyslotNotes.Reason] {
        (try? await KeyslotNotes(store: store, account: account.id).reading())?.reasons(of: account) ?? [:]
    }

    /// Checks that the vault key opens the stored claims. Some hardware keyslots can be made by anybody, for example
    /// with a token's public key. New items could then be sealed for somebody else. A typed secret is known only to its
    /// person, so this check is not made for it, and damaged claims keep nobody out.
    func requireRight(_ vaultKey: VaultKey, _ slot: Keyslot, of account: Account) async throws {
        do {
            // Every account has claims from the start.
            if try await TokenItems(store: store, id: account.id, vaultKey: vaultKey).claims() != nil { return }
        } catch let error as StoreError where error.code == .corrupt {}
        let now = try await current(account)
        // If the keyslot is gone, another program changed the unlock methods, perhaps with a new vault key.
        guard now.keyslots.contains(where: { $0.id == slot.id }) else { throw Self.keyslotsChanged(now) }
        throw VaultError(
            .storeCorrupt,
            "This unlock method does not open the items of \(account.displayName): the store was changed. Nothing was deleted. Try another unlock method.",
            detail: .keyslotDamaged)
    }

    /// Returns the error for an unlock method that the account does not have.
    func notEnrolled(_ kind: Keyslot.Kind, in account: Account) -> VaultError {
        if !account.keyslots.isEmpty, account.damagedKeyslots.contains(where: { $0.kind == kind }) {
            return VaultError(
                .storeCorrupt,
                "The \(kind.listName) of \(account.displayName) is damaged. Nothing was deleted. Use another unlock method.",
                detail: .keyslotDamaged, unlockMethod: kind)
        }
        guard account.damagedKeyslots.isEmpty else {
            return VaultError(
                .storeCorrupt,
                "An unlock method of \(account.displayName) is damaged. Nothing was deleted. Try another unlock method.",
                detail: .keyslotDamaged)
        }
        guard kind.isOfPassword else {
            return VaultError(
                .notEnrolled,
                "\(account.displayName) has no \(kind.displayName). Add it first, or use another unlock method.",
                detail: .keyslotMissing, unlockMethod: kind)
        }
        return VaultError(
            .notEnrolled,
            kind == .offline
                ? "\(account.displayName) cannot be opened without the network. Log in with the network, and add an offline unlock method."
                : "\(account.displayName) has no password. Use another unlock method.", detail: .keyslotMissing,
            unlockMethod: kind)
    }
}

/// The guesses that locked a key, as far as this store knows.
enum CauseOfLock: Sendable, Hashable {
    /// Wrong secrets of this machine.
    case wrongSecrets
    /// Guesses of this machine whose answers were lost. The secret may have been right.
    case cutOff(Int)
    /// Guesses that were made without this store, at least so many.
    case elsewhere(Int)

    init(_ own: UnfinishedGuesses) {
        let lost = own.guesses.count { !$0.isAnswered }
        if own.guesses.count < own.lockingCount {
            self = .elsewhere(own.lockingCount - own.guesses.count)
        } else {
            self = lost > 0 ? .cutOff(lost) : .wrongSecrets
        }
    }

    /// Returns a sentence or two for the person.
    /// - Parameter name: the name of the unlock method.
    func text(_ name: String) -> String {
        switch self {
        case .wrongSecrets: "The key is locked after too many wrong \(name)s."
        case .cutOff(let count):
            "The key of the \(name) is locked. \(count == 1 ? "1 guess" : "\(count) guesses") of this machine "
                + "\(count == 1 ? "was" : "were") cut off before the answer came. Your \(name) may be right."
        case .elsewhere(let count):
            "The key of the \(name) is locked. At least \(count == 1 ? "1 guess was" : "\(count) guesses were") not made "
                + "with this store. Somebody may have a copy of the store."
        }
    }
}
