internal import Foundation
internal import KeyServiceClient
internal import VaultBase
internal import VaultCrypto
package import VaultStorage

// The making of a new key and its keyslot.
extension OPRFKeys {
    /// Makes the key at the service, and seals the vault key. Stores no keyslot yet. The key is on the list of keys to
    /// end until its keyslot is stored.
    package func make(_ draft: KeyslotDraft, for account: Account, vaultKey: VaultKey) async throws -> Keyslot {
        let id = UUID().uuidString.lowercased()
        let stretched = try functionInput(draft.input, isOfHardware: draft.protected != nil, id: id)
        let endKey = try vaultKey.endKey(of: id)
        // Before a key is made that could not be claimed.
        let token = try await claim?.token(vaultKey)
        let end = endKey.end(of: id)
        // A disk that a thief has must not end the key of a recovery code or of hardware.
        let stored = draft.kind.isGuessable ? end : try await vaultKey.seal(end, as: .keyEnd(id), of: account.id)
        let blinding = try OPRF.blind(stretched.bytes)
        let requestKey = SharedSecret(try requestKey(draft.kind, stretched, id: id, of: account))
        let signature = endKey.claim(of: id, issuer: account.id.issuer, subject: account.id.subject)
        newClaims.add(signature, of: id)
        let label = try await DeviceLabel(
            shortening: DeviceRecord(store: store, account: account.id).name(), draft.kind
        ).sealed(id, tag: DeviceLabel.tag(of: account), of: account.id, vaultKey)
        try await list(id, of: account, draft.kind, end, sealed: stored, vaultKey)
        FaultPoint.keyNoted.reach()
        do {
            let new = NewOPRFKey(
                id: id, requestKey: requestKey, endKey: endKey.publicKey, blinded: blinding.element, label: label)
            let evaluation = try await client.createKey(new)
            FaultPoint.keyCreated.reach()
            // Somebody in the network may have answered with a key of their own, to guess with it later.
            let serviceKey = try trusted.check(evaluation, of: new)
            let protection =
                try draft.protected.map { try HardwareData($0, serviceKey: serviceKey).encoded() } ?? serviceKey ?? []
            guard evaluation.claimWithin == nil || claim != nil else { throw VaultError.claimTimeWasHidden }
            let output = try finalize(stretched, blinding, evaluation.element)
            let confirmKey = try OPRFDerivation.confirmKey(output, id: id)
            let slotKey = try OPRFDerivation.slotKey(
                output, slotID: draft.id, salt: salt(of: account, protection: protection))
            let slot = try draft.keyslot(
                of: account.id, sealing: vaultKey, under: slotKey, key: (id, version: 2), protection: protection,
                check: confirmKey.publicKey, endSignature: stored)
            let confirmation = confirmKey.firstConfirmation(of: id, ticket: evaluation.ticket, endKey: endKey)
            try await client.confirm(confirmation)
            FaultPoint.keyConfirmed.reach()
            let proof = try await proof(of: id, stretched, output, requestKey, confirmKey)
            // An empty signature says that the service has the claim.
            if try await claim?.send(signature, of: id, with: token) == true { newClaims.add([], of: id) }
            // With a question from the start, a proof that this device was not revoked costs no guess.
            let question =
                draft.kind.isGuessable
                ? try? LaterQuestion(about: id, confirmKey, judgesGuesses: false, now: client.clock.now) : nil
            try? await guesses(of: account).noteSent([confirmation, proof], question: question)
            return slot
        } catch {
            // In a new task: the store does nothing for a cancelled task. The next program that ends keys ends this
            // one.
            let key = RetiredKey(id: id, of: account, draft.kind, version: 2, stored)
            _ = newClaims.take([id])
            await Task { try? await RetiredKeys(store: store).add([key]) }.value
            throw error
        }
    }

    /// Proves that the service has the first confirmation of a new key, and returns the confirmation of this proof.
    ///
    /// Nothing authenticates the answer to a confirmation. If somebody else answered it, the key would end after a day,
    /// with the old key already gone. A finished key evaluates, and only the key itself can give the same output for
    /// another blinded element.
    private func proof(
        of id: String, _ stretched: SharedSecret, _ output: borrowing SecretBytes, _ requestKey: SharedSecret,
        _ confirmKey: borrowing SigningKey
    ) async throws -> KeyConfirmation {
        let blinding = try OPRF.blind(stretched.bytes)
        do {
            let answer = try await client.evaluate(id, blinding.element, requestKey: requestKey)
            guard try finalize(stretched, blinding, answer.element).isEqual(to: output) else {
                throw KeyServiceError(.invalidAnswer, "The key service answered with another key.")
            }
            let confirmation = confirmKey.confirmation(of: id, tickets: [answer.ticket])
            // If it is lost, the next login closes the guess.
            try? await client.confirm(confirmation)
            return confirmation
        } catch let error as KeyServiceError where error.code == .unfinished {
            throw KeyServiceError(
                .unavailable,
                "Somebody in the network answered a message to the key service, and did not pass it on. No unlock method was added.",
                underlying: error)
        }
    }

    /// Puts a new key on the list of keys to end, until its keyslot is stored.
    ///
    /// A sealed signature must open with the account's present vault key, because nobody has the new one if the program
    /// dies now. So this fails if another program has replaced the vault key.
    private func list(
        _ id: String, of account: Account, _ kind: Keyslot.Kind, _ end: [UInt8], sealed: [UInt8], _ vaultKey: VaultKey
    ) async throws {
        var listed = RetiredKey(id: id, of: account, kind, version: 2, sealed)
        listed.madeAt = client.clock.now
        guard !kind.isGuessable else { return try await RetiredKeys(store: store).add([listed]) }
        let present = presentVaultKey ?? vaultKey
        if presentVaultKey != nil {
            listed.sealedEndSignature = try await present.seal(end, as: .keyEnd(id), of: account.id)
        }
        try await store.apply([RetiredKeys.adding([listed])], to: account.id, sealedUnder: present)
    }
}

extension VaultKey {
    /// Derives the key pair that ends a key at a key service of protocol version 2.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` when another process holds the vault key.
    func endKey(of keyID: String) throws -> SigningKey {
        guard let bytes else { throw Self.isKeptByAgent }
        return try OPRFDerivation.endKey(bytes.bytes, id: keyID)
    }

    /// Signs the claim that puts a key on the owner's list of devices.
    ///
    /// - Throws: as ``endKey(of:)``.
    func claim(of keyID: String, by id: AccountID) throws -> [UInt8] {
        try endKey(of: keyID).claim(of: keyID, issuer: id.issuer, subject: id.subject)
    }
}
