internal import KeyService
internal import Logging
internal import VaultCrypto
internal import VaultHTTP

// A device that its owner revoked opens nothing any more, also without the network.
extension Accounts {
    /// The longest wait for the key service before an account renews its tokens.
    private static let patienceForRevocation = Duration.seconds(5)

    /// Removes the ways in that need no key service, if the owner revoked this device: if all keys that the key service
    /// can be asked about are revoked. An operator can also revoke one key alone.
    ///
    /// - Parameter known: a keyslot whose key was revoked.
    func removeOfflineWays(of account: Account, known: Keyslot) async {
        if account.askable.isEmpty {
            // Nothing tells about a key of hardware but a login with that hardware.
            let refused = await refusedKeyslots(of: account)
            for slot in account.keyslots where slot.needsKeyService && slot.id != known.id {
                guard refused[slot.id] == .revoked else { return }
            }
        }
        for slot in account.askable where slot.id != known.id {
            guard await isRevoked(slot, of: account) == true else { return }
        }
        await removeOfflineWays(of: account)
    }

    private func removeOfflineWays(of account: Account) async {
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
                    "removed the ways in without the network: the device was revoked",
                    metadata: account.id.logMetadata)
            }
        }.value
    }

    /// Asks the key service whether the owner revoked this device.
    ///
    /// - Parameter needsAnswer: whether a key service that does not answer is an error.
    /// - Throws: ``VaultError`` with code `deviceRevoked`: the ways in without the network were removed. Register again.
    ///   With code `keyServiceUnavailable`: try again later.
    package func requireNotRevoked(_ id: AccountID, needsAnswer: Bool = false) async throws {
        guard let account = try? await store.account(id) else { return }
        switch await isRevoked(account) {
        case true:
            await removeOfflineWays(of: account)
            throw VaultError.deviceRevoked
        case nil where needsAnswer:
            throw VaultError(
                .keyServiceUnavailable,
                "The key service does not answer. It must say first that this device was not revoked. Try again later.")
        default: return
        }
    }

    /// Refuses a new way in on a device that the owner revoked. Otherwise an open session could make itself a new key
    /// there, which the owner's list does not show.
    ///
    /// - Throws: ``VaultError`` with code `deviceRevoked` or `keyServiceUnavailable`.
    func requireMayAddWay(to account: Account) async throws {
        try await requirePolicyInSight()
        try await requireNotRevoked(account.id, needsAnswer: true)
    }

    /// Whether the key service says now that the owner revoked this device. The question costs no guess.
    ///
    /// - Returns: nil if the key service does not answer.
    private func isRevoked(_ account: Account) async -> Bool? {
        await withTaskGroup(of: Bool?.self) { group in
            group.addTask { await asksWhetherRevoked(account) }
            group.addTask { [timer] in
                try? await timer.sleep(for: Self.patienceForRevocation)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// Whether the key service said earlier that the owner revoked this device. Then the ways in without the network are
    /// gone, and the person must learn why.
    func isKnownRevoked(_ account: Account) async -> Bool {
        let refused = await refusedKeyslots(of: account)
        return !account.askable.isEmpty && account.askable.allSatisfy { refused[$0.id] == .revoked }
    }

    private func asksWhetherRevoked(_ account: Account) async -> Bool? {
        guard !account.askable.isEmpty else { return false }
        for slot in account.askable {
            let isRevoked = await isRevoked(slot, of: account)
            guard isRevoked == true else { return isRevoked }
        }
        return true
    }

    /// - Returns: nil if the key service does not answer.
    private func isRevoked(_ slot: Keyslot, of account: Account) async -> Bool? {
        guard let oblivious = try? oblivious(account) else { return false }
        let tries = OwnTries(store: store, account: account.id)
        do {
            guard let last = try await tries.sent(of: slot.keyID).last else { return false }
            try await oblivious.client.confirm(last)
            return false
        } catch let error as KeyServiceError where error.code == .keyRevoked {
            // Somebody between here and the service may have said so. An evaluation is authenticated. It costs no guess
            // if the key was revoked. Otherwise the next login takes it back.
            let isRevoked = (try? await withTurn(of: account.id) { _ in await oblivious.isRevoked(slot) }) ?? nil
            guard isRevoked == true else { return isRevoked }
            try? await KeyRefusals(store: store, account: account.id).note(
                error, for: slot, of: account, now: clock.now)
            return true
        } catch let error as KeyServiceError where [.unavailable, .busy].contains(error.code) {
            return nil
        } catch {
            return false
        }
    }
}

extension VaultError {
    /// The error of every way in after the owner revoked this device.
    static var deviceRevoked: VaultError {
        VaultError(
            .deviceRevoked, "This device was revoked. If no other way in works, register again: vault register")
    }
}

extension Account {
    /// The keyslots that the key service can be asked about: their requests are authenticated with what is on the disk.
    fileprivate var askable: [Keyslot] {
        keyslots.filter { $0.keyServiceProtocol == 2 && $0.kind.isGuessable }
    }
}

extension ObliviousKeyslot {
    /// Whether the key service says that the key was revoked, to a try with an element that means nothing. The same
    /// element is used again, so all questions together open one try at most.
    ///
    /// - Returns: nil if the key service does not answer.
    fileprivate func isRevoked(_ slot: Keyslot) async -> Bool? {
        do {
            let key = slot.keyID
            let requestKey = SharedSecret(
                try ObliviousKeys.requestKey(from: SecretBytes(copying: account.deviceSecret), id: key))
            let tries = OwnTries(store: store, account: account.id)
            let element: RistrettoElement
            if let last = try await tries.unfinished(at: key).tries.last,
                let open = try? RistrettoElement(last.element)
            {
                element = open
            } else {
                element = try ObliviousFunction.blind(SecretBytes.random(count: ObliviousKeys.stretchedSize)).element
                try await tries.note(element, at: key)
            }
            _ = try await client.evaluate(key, element, requestKey: requestKey)
            return false
        } catch let error as KeyServiceError {
            return [.unavailable, .busy].contains(error.code) ? nil : error.code == .keyRevoked
        } catch {
            return false
        }
    }
}
