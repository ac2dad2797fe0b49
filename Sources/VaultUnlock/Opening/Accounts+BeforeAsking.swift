internal import KeyServiceClient
internal import VaultBase
package import VaultStorage

// What is known before a person gives a secret, so that nobody types one in vain. Nothing here costs a guess.
extension Accounts {
    /// Checks that the key service does not refuse every unlock method for good. A locked key passes, because the
    /// service's operator may have unlocked it.
    ///
    /// The notes of earlier refusals only decide whether the service is asked again. Its operator may have restored the
    /// keys since then, and somebody with the disk can change the notes.
    ///
    /// - Parameters:
    ///   - kind: the kind of the unlock method that will be used; nil for any kind.
    ///   - limit: the longest wait for an answer. A key about which no answer comes passes.
    /// - Throws: ``VaultError``: `deviceRevoked`, `keyMissing`: register again, or use an unlock method that the text
    ///   names. `notEnrolled`, `storeCorrupt`: use another unlock method. `forbiddenByPolicy`: use another account.
    package func requireOpenable(
        _ account: Account, by kind: Keyslot.Kind? = nil, within limit: Duration
    ) async throws {
        guard account.hasKeyService else { return }
        // A revocation that became known since then has removed the unlock methods that need no key service.
        let account = (try? await store.account(account.id)) ?? account
        let slots = account.keyslots.filter { kind == nil || $0.kind == kind }
        guard let first = slots.first else {
            // An account without unlock methods has an error of its own.
            guard let kind else { return }
            if await isKnownRevoked(account) { throw VaultError.deviceRevoked }
            throw notEnrolled(kind, in: account)
        }
        let refused = await refusedKeyslots(of: account)
        let ends: [KeyslotNotes.Reason] = [.revoked, .ended]
        guard slots.allSatisfy({ slot in refused[slot.id].map { ends.contains($0) } ?? false }) else { return }
        try requireAllowedServers(of: account)
        var isRevoked = false
        for slot in slots {
            switch await answer(about: slot, of: account, within: limit) {
            case .revoked: isRevoked = true
            // Nothing authenticates an answer about a recovery code or hardware. It counts because the keys of all
            // passwords and PINs were proven to be revoked.
            case .unproven where refused[slot.id] == .revoked: isRevoked = true
            case .ended: continue
            case .live, .locked, .unproven, .none: return
            }
        }
        let others = account.keyslots.filter { refused[$0.id] == nil }.map(\.kind)
        let error =
            isRevoked
            ? KeyServiceError(.keyRevoked, "This device was revoked.")
            : KeyServiceError(.keyEnded, "The key was ended.")
        throw VaultError(error, secret: first.kind, others: others)
    }

    /// The key service's answer about one key; `none` if it does not come in time.
    private func answer(
        about slot: Keyslot, of account: Account, within limit: Duration
    ) async -> RevocationAnswer {
        await within(limit, timer) { await answer(about: slot, of: account, needsProof: false) } ?? .none
    }

    /// Asks the key service about each key that was locked at its last answer, because its operator may have unlocked the
    /// key since then. Notes the answers. Without an answer, the note of the lock stays.
    ///
    /// - Parameters:
    ///   - asksAll: whether to ask about the keys of all passwords and PINs.
    ///   - limit: the longest wait for all answers.
    /// - Returns: the answers by the id of the keyslot. A key about which no answer came is not among them.
    @discardableResult
    package func recheckLocks(
        of account: Account, asksAll: Bool = false, within limit: Duration
    ) async -> [String: RevocationAnswer] {
        let refused = await refusedKeyslots(of: account)
        let asked = account.askable.filter { asksAll || refused[$0.id] == .locked }
        guard !asked.isEmpty, account.hasKeyService, (try? requireAllowedServers(of: account)) != nil else {
            return [:]
        }
        let questions = (try? await OwnGuesses(store: store, account: account.id).questions()) ?? [:]
        let answers = Lock<[String: RevocationAnswer]>([:])
        await within(limit, timer) {
            for slot in asked {
                // Without a prepared question, the answer would cost a guess.
                guard questions[slot.keyID]?.element(of: slot.keyID, check: slot.check) != nil,
                    var keys = try? keys(of: slot, account) as? OPRFKeys
                else { continue }
                // A key is busy for ten seconds after the guess that locked it. The person must not wait for that.
                keys.client.timeout = .zero
                keys.takesBusyForLocked = true
                let answer = await keys.answer(about: slot, of: account, needsProof: true)
                switch answer {
                case .none: continue
                case .revoked: await removeOfflineKeyslots(of: account, known: slot)
                case .live, .locked, .unproven, .ended: break
                }
                answers.withLock { $0[slot.id] = answer }
            }
        }
        return answers.withLock { $0 }
    }

    /// Asks whether the account's key service answers.
    ///
    /// - Parameter limit: the longest wait. A service that is slower passes, because it may answer later.
    /// - Throws: ``VaultError``: `keyServiceUnavailable`: try again later, or use an unlock method without the network.
    ///   `forbiddenByPolicy`: use another account. `cancelled`.
    package func requireKeyService(of account: Account, within limit: Duration) async throws {
        try requireAllowedServers(of: account)
        guard account.hasKeyService else { return }
        let url = account.keyServiceURL
        let outage = await within(limit, timer) { [services] () async -> KeyServiceError? in
            do {
                // A service counts the requests that it refuses. It does not refuse the question for its versions.
                if let service = try services.oprf(url) {
                    _ = try await service.protocolVersions()
                } else {
                    try await services.released(url).checkReachable()
                }
                return nil
            } catch let error as KeyServiceError where error.code == .unavailable {
                return error
            } catch {
                // Any other error is one of the login, whose text says more.
                return nil
            }
        }
        guard !Task.isCancelled else { throw VaultError(.cancelled, "Cancelled.") }
        if let outage = outage ?? nil { throw VaultError(outage) }
    }
}
