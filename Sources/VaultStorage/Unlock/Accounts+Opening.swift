package import Foundation
internal import KeyService
internal import Logging
internal import VaultCrypto
internal import VaultHTTP

extension Accounts {
    /// Opens an account: with a typed secret one Argon2id here and one call to the key service, where a wrong one costs a
    /// guess; with hardware its own check of the PIN first, and then one call.
    ///
    /// - Throws: ``VaultError``: `wrongSecret`, `keyLocked`, `keyMissing`, `keyServiceUnavailable`; `notEnrolled` when the
    ///   account has no such way in; with hardware `hardwareMissing`, `hardwareReplaced`, `hardwareLocked`,
    ///   `hardwareFailed` and `cancelled`; without the network `tooManyAttempts` and `offlineTooLong`;
    ///   `forbiddenByPolicy`.
    package func open(_ account: Account, with method: UnlockMethod) async throws -> VaultKey {
        try await opened(account, with: method).vaultKey
    }

    /// As ``open(_:with:)``, and tells of wrong guesses that were not made here. After those the keyslot has a new key at
    /// the key service, with the same secret: a copy of the store opens nothing any more.
    ///
    /// `account` may have been read a while ago. What counts is what is stored now: of an account that was deleted since,
    /// or registered again, nothing opens.
    ///
    /// - Throws: as ``open(_:with:)``, `accountNotFound` and `busy`.
    package func opened(_ account: Account, with method: UnlockMethod) async throws -> OpenedAccount {
        try requireAllowed(method.kind)
        let about = account.id.logMetadata.merging(["way": .string(method.kind.rawValue)]) { $1 }
        logger.debug("opening the account", metadata: about)
        do {
            let stored = try await current(account)
            // Nobody should type a PIN that opens nothing.
            try requireAllowedServers(of: stored)
            let method = try await method.askingForPIN(of: stored)
            let (current, slot, opened) = try await openedKeyslot(of: account, with: method)
            // Only for the person to look at: it must not keep anybody out.
            try? await store.apply([.noteUse(ofKeyslot: slot.id, clock.now)], to: current.id)
            await AttemptRecords.forget(in: store, at: clock.now)
            await showClaims(of: current, vaultKey: opened.vaultKey)
            let notice = await settle(opened, slot, of: current, with: method)
            return OpenedAccount(vaultKey: opened.vaultKey, wrongGuesses: notice)
        } catch {
            logger.notice(
                "the account was not opened", metadata: about.merging(["error": Logger.code(of: error)]) { $1 })
            throw VaultError.converting(error, way: method.kind)
        }
    }

    private func openedKeyslot(
        of account: Account, with method: UnlockMethod
    ) async throws -> (Account, Keyslot, OpenedKeyslot) {
        var isSecondTry = false
        while true {
            let current = try await current(account)
            let slot = try await slot(of: current, for: method)
            do {
                let opened = try await method.opener.open(slot, of: current, in: self)
                // A person, hardware and the key service took their time.
                if try await self.current(account).keyslots.contains(where: { $0.id == slot.id }) {
                    if slot.kind.isHardware { try await requireRight(opened.vaultKey, of: current) }
                    return (current, slot, opened)
                }
                guard slot.kind.isTyped, !isSecondTry else {
                    throw VaultError(
                        .busy, "Another program changed the ways into \(current.displayName) meanwhile. Try again.")
                }
            } catch let error as KeyServiceError {
                // Another login may have given the keyslot a new key, and ended the one that was asked for. The new one
                // is another key, so this repeats no guess. Or the account was deleted, and its keys with it.
                guard error.saysNo, let now = try await stillThere(account), slot.kind.isTyped, !isSecondTry,
                    let other = now.keyslot(slot.kind), other.id != slot.id
                else {
                    await note(error, at: slot, of: current)
                    throw VaultError(error, secret: method.kind, ways: current.keyslots.map(\.kind))
                }
            } catch is CancellationError where slot.kind.isTyped {
                throw VaultError(
                    .cancelled,
                    "Cancelled. If the \(slot.kind.displayName) was wrong, the key service may have counted it.")
            }
            isSecondTry = true
        }
    }

    /// Remembers what the key service said. It must not hide that.
    private func note(_ error: KeyServiceError, at slot: Keyslot, of account: Account) async {
        try? await KeyLocks(store: store, account: account.id).note(error, for: slot, now: clock.now)
        guard error.code == .wrongSecret, slot.kind.isTyped else { return }
        try? await NotedGuesses(store: store, account: account.id).note(slot)
    }

    /// As ``current(_:)``; nil when that cannot be read right now.
    private func stillThere(_ account: Account) async throws -> Account? {
        do { return try await current(account) } catch is StoreError { return nil }
    }

    /// The account as it is stored now.
    ///
    /// - Throws: ``VaultError`` with code `accountNotFound`, or `busy` when it was registered again.
    package func current(_ account: Account) async throws -> Account {
        guard let current = try await store.account(account.id) else {
            throw VaultError(
                .accountNotFound,
                "The account \(account.displayName) was deleted meanwhile. To use it again, register again.")
        }
        guard current.deviceSecret == account.deviceSecret else {
            throw VaultError(
                .busy, "Another program registered the account again meanwhile. Log in again, and try again.")
        }
        return current
    }

    /// The keyslots whose keys were locked at the key service when they were tried last on this machine, by their ids. The
    /// service is not asked: it would take a guess.
    package func lockedKeyslots(of account: Account) async -> Set<String> {
        (try? await KeyLocks(store: store, account: account.id).locked(of: account)) ?? []
    }

    /// The keyslot that the method opens: of several of one kind, the one that it chooses among those the policy allows.
    private func slot(of account: Account, for method: UnlockMethod) async throws -> Keyslot {
        let all = account.keyslots.filter { $0.kind == method.kind }
        let slots = all.filter(policy.allows)
        if slots.isEmpty && !all.isEmpty { try requireAllowed(.offline) }
        if let slot = await method.opener.choose(from: slots) { return slot }
        throw notEnrolled(method.kind, in: account)
    }

    /// A keyslot is worth what its hardware proves, and some can be made by anybody: for a token, its public key is enough.
    /// So the vault key has to open what it sealed already, or what is sealed with it from now on could be somebody else's.
    /// What is typed nobody else has: there, damage to what was sealed is no reason to keep a person out.
    private func requireRight(_ vaultKey: VaultKey, of account: Account) async throws {
        do {
            // Every account has its claims from the start.
            if try await TokenItems(store: store, id: account.id, vaultKey: vaultKey).claims() != nil { return }
        } catch let error as StoreError where error.code == .corrupt {}
        _ = try await current(account)
        throw VaultError(
            .storeCorrupt,
            "What opens \(account.displayName) so does not open what is stored of it: something changed the store. Nothing was deleted; another way in may still work. See: vault unlock list"
        )
    }

    /// What to say of a way in that is not there.
    private func notEnrolled(_ kind: Keyslot.Kind, in account: Account) -> VaultError {
        guard account.damagedKeyslots.isEmpty else {
            return VaultError(
                .storeCorrupt,
                "A way into \(account.displayName) is damaged. Nothing was deleted; another way in may still work. See: vault unlock list"
            )
        }
        guard kind.isOfPassword else {
            return VaultError(
                .notEnrolled, "\(account.displayName) has no \(kind.displayName): see \"vault unlock add\".")
        }
        return VaultError(
            .notEnrolled,
            kind == .offline
                ? "\(account.displayName) cannot be opened without the network: see \"vault unlock add offline\"."
                : "\(account.displayName) has no password: another way in opens it.")
    }

    // MARK: - Without the network

    /// Until when the account opens without the network; nil when it has no such way in, or the policy forbids it. It may
    /// be over already.
    package func endOfOpeningOffline(_ account: Account) -> Date? {
        opensOffline(account) ? (account.lastOnlineAt ?? account.createdAt) + offlineMaximumAge : nil
    }

    /// Refuses to open an account without the network that was not online for too long.
    ///
    /// - Throws: ``VaultError`` with code `offlineTooLong`.
    func requireRecentlyOnline(_ account: Account) throws {
        let (now, last) = (clock.now, account.lastOnlineAt ?? account.createdAt)
        // A clock that was put back makes it no younger than it was made.
        guard now <= last + offlineMaximumAge, now >= account.createdAt - 86_400 else {
            let days = policy.maximumOfflineDays
            let advice =
                days.map { Double($0) * 86_400 } == offlineMaximumAge
                ? "The policy allows \(days == 1 ? "1 day" : "\(days ?? 0) days"). Connect to the network, and log in with another way in."
                : "Connect to the network, and log in with another way in. To allow more days: vault config set offline-max-age DAYS"
            throw VaultError(
                .offlineTooLong,
                "\(account.displayName) was last online on \(last.formatted(.iso8601)). That is too long ago to open it without the network. \(advice)"
            )
        }
    }
}

/// What came of opening an account.
package struct OpenedAccount: Sendable {
    /// What the account is sealed with.
    package let vaultKey: VaultKey
    /// What the person has to be told of wrong guesses that were not made here; nil when there were none.
    package let wrongGuesses: AccountNotice?
}

extension KeyServiceError {
    /// Whether the key service refused the secret or the key, as it does with a key that was ended.
    fileprivate var saysNo: Bool { [.wrongSecret, .keyLocked, .noSuchKey].contains(code) }
}
