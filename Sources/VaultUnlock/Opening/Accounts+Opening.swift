internal import KeyServiceClient
internal import Logging
internal import VaultBase
internal import VaultCrypto
package import VaultStorage

extension Accounts {
    /// Opens an account. A typed secret takes one Argon2id here and one call to the key service. A wrong one costs a
    /// guess. Hardware checks its own PIN first; then one call follows.
    ///
    /// - Throws: ``VaultError`` with one of the codes that ``UnlockMethod`` lists.
    package func open(_ account: Account, with method: UnlockMethod) async throws -> VaultKey {
        try await opened(account, with: method).vaultKey
    }

    /// As ``open(_:with:)``, and tells of wrong guesses that were not made here. After such guesses the keyslot gets a
    /// new key with the same secret, so that an old copy of the store opens nothing.
    ///
    /// `account` may have been read a while ago, so it is read again. An account that was deleted or registered again
    /// since then does not open.
    ///
    /// - Throws: as ``open(_:with:)``; also `accountNotFound` (register) and `busy` (try again).
    package func opened(_ account: Account, with method: UnlockMethod) async throws -> OpenedAccount {
        try await openedKeyslot(account, with: method).account
    }

    /// As ``opened(_:with:)``, with the keyslot.
    func openedKeyslot(
        _ account: Account, with method: UnlockMethod
    ) async throws -> (account: OpenedAccount, slot: Keyslot, opened: OpenedKeyslot) {
        try requireAllowed(method.kind)
        let about = account.id.logMetadata.merging(["unlockMethod": .string(method.kind.rawValue)]) { $1 }
        logger.debug("opening the account", metadata: about)
        do {
            let stored = try await current(account)
            // The policy is checked first: nobody should type a PIN that opens nothing.
            if !isMoving { try requireAllowedServers(of: stored) }
            let method = try await method.opening(stored).askingForPIN(of: stored)
            let (current, slot, opened) = try await openedKeyslot(of: account, with: method)
            // Only the key service can compute the oblivious function, so this login proves that the key is live.
            if slot.isOPRF { history.noteProof(of: account.id, at: steady.now()) }
            let seen = try await seeClock(opened, slot, of: current)
            let claims = opened.confirmation == nil ? [] : [missingClaims(of: current, opened.vaultKey)]
            await confirmOpening(opened, slot, of: current, noting: claims, sealed: seen)
            // The person gets in all the same. The next login tries again.
            try? await VaultKeyRecord(store: store, account: account.id).adopt(
                opened.vaultKey, with: .noteUse(ofKeyslot: slot.id, clock.now))
            await correctVaultKeyRecord(opened.vaultKey, slot, of: current)
            await AttemptRecords.forget(in: store, at: clock.now)
            await showClaims(of: current, vaultKey: opened.vaultKey)
            if let left = opened.guessesLeft {
                // Only for the next question: perhaps it is about the last guess.
                try? await KeyslotNotes(store: store, account: account.id).noteLeft(left, for: slot, now: clock.now)
            }
            let notice = await renewAfterOpening(opened, slot, of: current, with: method)
            await notePolicy()
            if slot.needsKeyService { await removeForbiddenOfflineKeyslots(of: current) }
            let result = OpenedAccount(
                vaultKey: opened.vaultKey, wrongGuesses: notice, account: current, keyslot: slot)
            return (result, slot, opened)
        } catch {
            logger.notice(
                "the account was not opened", metadata: about.merging(["error": Logger.code(of: error)]) { $1 })
            throw VaultError.converting(error, unlockMethod: method.kind)
        }
    }

    private func openedKeyslot(
        of account: Account, with method: UnlockMethod
    ) async throws -> (Account, Keyslot, OpenedKeyslot) {
        var isSecondPass = false
        while true {
            let current = try await current(account)
            let slot = try await slot(of: current, for: method)
            do {
                let opened = try await opened(slot, of: current, with: method)
                // The person, the hardware and the key service took time. The unlock methods may have changed.
                let current = try await self.current(account)
                if current.keyslots.contains(where: { $0.id == slot.id }) {
                    if slot.kind.hasProvider { try await requireRight(opened.vaultKey, slot, of: current) }
                    return (current, slot, opened)
                }
                guard slot.kind.isTyped, !isSecondPass else { throw Self.keyslotsChanged(current) }
            } catch let error as KeyServiceError {
                if error.code == .keyRevoked, slot.isOPRF {
                    await removeOfflineKeyslots(of: current, known: slot)
                }
                // Another login may have given the keyslot a new key and ended the old one. The new key is another key,
                // so a second pass repeats no guess. Or the account was deleted, with its keys.
                guard error.saysNo, let now = try await stillThere(account), now.keyslot(slot.kind) != nil,
                    !now.keyslots.contains(where: { $0.id == slot.id })
                else {
                    throw await refusal(error, at: slot, of: current)
                }
                guard slot.kind.isTyped, !isSecondPass else { throw Self.keyslotsChanged(now) }
            } catch is CancellationError where slot.kind.isTyped && slot.needsKeyService {
                throw VaultError(
                    .cancelled,
                    "Cancelled. If the \(slot.kind.displayName) was wrong, the key service may have counted it.")
            }
            isSecondPass = true
        }
    }

    private func opened(
        _ slot: Keyslot, of account: Account, with method: UnlockMethod
    ) async throws -> OpenedKeyslot {
        if !slot.needsKeyService && account.hasKeyService { try requireRecentlyOnline(account) }
        let keys = try keys(of: slot, account)
        let cost = slot.needsKeyService ? argon2 : offlineCost
        @Sendable func open() async throws -> OpenedKeyslot {
            let input = try await method.input(for: slot, of: account, cost: cost, size: keys.inputSize)
            var opened = try await keys.open(
                slot, of: account, input: input, spendsLastGuess: method.spendsLastGuess)
            if slot.kind.hasProvider { opened.hardwareSecret = input }
            return opened
        }
        guard !slot.needsKeyService, !slot.kind.hasProvider else { return try await open() }
        // Nobody else counts these guesses.
        let guesses = OfflineGuesses(store: store, account: account.id)
        let opened = try await guesses.charge(now: clock.now) {
            do { return try await open() } catch let error as VaultError where error.code == .wrongSecret { return nil }
        }
        guard let opened else { throw VaultError(.wrongSecret, "Wrong password.") }
        return opened
    }

    /// As ``current(_:)``; nil if the store cannot be read now.
    private func stillThere(_ account: Account) async throws -> Account? {
        do { return try await current(account) } catch is StoreError { return nil }
    }

    /// Returns the account as it is stored now.
    ///
    /// - Throws: ``VaultError`` with code `accountNotFound` (register), or `busy` if it was registered again (log in
    ///   again).
    package func current(_ account: Account) async throws -> Account {
        guard let current = try await store.account(account.id) else {
            throw VaultError(
                .accountNotFound,
                "The account \(account.displayName) was deleted meanwhile. Register it again.")
        }
        guard current.deviceSecret == account.deviceSecret else {
            throw VaultError(
                .busy, "Another program registered the account again meanwhile. Log in, then try again.")
        }
        return current
    }

    /// Returns the keyslot for the method. If several fit, the method chooses among those that the policy allows.
    private func slot(of account: Account, for method: UnlockMethod) async throws -> Keyslot {
        let all = account.keyslots.filter { $0.kind == method.kind }
        let slots = isMoving ? all : all.filter(policy.allows)
        if slots.isEmpty, let first = all.first {
            if let version = first.keyServiceProtocol { try requireAllowed(keyServiceProtocol: version) }
            try requireAllowed(.offline)
        }
        if let slot = await method.choose(from: slots) { return slot }
        if await isKnownRevoked(account) { throw VaultError.deviceRevoked }
        throw notEnrolled(method.kind, in: account)
    }
}

/// The result of opening an account.
package struct OpenedAccount: Sendable {
    package let vaultKey: VaultKey
    /// The notice about wrong guesses that were not made here; nil if there were none.
    package let wrongGuesses: AccountNotice?
    package let account: Account
    /// The keyslot that opened it. If it needs no key service, the key service was not asked.
    package let keyslot: Keyslot
}

extension KeyServiceError {
    /// Whether the key service refused the secret or the key. It also refuses a key that was ended.
    fileprivate var saysNo: Bool {
        [.wrongSecret, .keyLocked, .noSuchKey, .unfinished, .keyEnded, .keyRevoked, .keyDestroyed].contains(code)
    }
}
