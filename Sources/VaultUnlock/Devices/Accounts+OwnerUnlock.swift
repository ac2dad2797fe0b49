package import KeyServiceClient
internal import VaultBase
package import VaultStorage

// A locked key, and an owner who signs in at the provider to unlock it.
extension Accounts {
    /// Checks whether a sign-in can unlock keys of this machine, before the person signs in. No token is sent.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` or `deviceNotFound` if not, or `keyServiceUnavailable`
    ///   (try again later).
    package func requireOwnerUnlock(of account: Account) async throws {
        do {
            try requireAllowedServers(of: account)
            try account.requireKeyService(for: "Unlocking by a sign-in")
            guard account.method == .openIDConnect, !account.oprfKeys.isEmpty else {
                throw VaultError(
                    .configurationInvalid,
                    "No sign-in can unlock \(account.displayName): that needs an OpenID provider, and an unlock method with protocol version 2 of the key service."
                )
            }
            guard let service = try services.deviceLists(account.keyServiceURL),
                try await service.allowsOwnerUnlock()
            else {
                throw VaultError(
                    .configurationInvalid,
                    "The key service of \(account.displayName) does not let people unlock their own keys. The operator of the key service can unlock them.",
                    detail: .ownerUnlockOff)
            }
            guard try await mayBeListed(account) else { throw VaultError.keysNotListed }
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Unlocks the locked keys of this machine at the key service. The keys of other machines stay as they are: a thief
    /// may have one of them.
    ///
    /// - Parameter token: the owner's access token, of a sign-in of the last 5 minutes.
    /// - Returns: the keyslots whose keys were unlocked.
    /// - Throws: ``VaultError`` if no key was unlocked, with one of these codes: `deviceNotFound` (the list has no key of
    ///   this machine), `keyLocked` (a key was unlocked in the last 24 hours, or only the operator can unlock it),
    ///   `configurationInvalid` (the token is not good enough), or `keyServiceUnavailable` (try again later).
    package func unlockKeys(of account: Account, _ token: OwnerToken) async throws -> [Keyslot] {
        do {
            try requireAllowedServers(of: account)
            guard let service = try services.deviceLists(account.keyServiceURL) else { return [] }
            let listed = try await service.listedKeys(accessToken: token)
            let own = listed.filter { account.oprfKeys.contains($0.id) }
            guard !own.isEmpty else { throw VaultError.keysNotListed }
            let locked = Set(own.filter(\.isLocked).map(\.id))
            var (unlocked, failure): (Set<String>, (any Error)?) = ([], nil)
            for id in locked.sorted() {
                do {
                    try await service.unlockKey(id: id, accessToken: token)
                    unlocked.insert(id)
                } catch {
                    // Another key may be unlocked all the same.
                    failure = failure ?? error
                }
            }
            if unlocked.isEmpty, let failure { throw failure }
            let slots = account.keyslots.filter { unlocked.contains($0.keyID) }
            let notes = KeyslotNotes(store: store, account: account.id)
            // Otherwise the next login would pass over the method. The keys are unlocked also if that cannot be noted.
            for slot in slots { try? await notes.forgetRefusal(of: slot) }
            return slots
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Whether the owner's list may have keys of this machine. False only if this machine never sent a claim for them.
    /// A claim may have arrived, although its answer was lost.
    private func mayBeListed(_ account: Account) async throws -> Bool {
        if try await store.item(.deviceList, of: account.id) != nil { return true }
        return try await DeviceRecord(store: store, account: account.id).mayHaveSent(account.oprfKeys)
    }
}

extension VaultError {
    fileprivate static var keysNotListed: VaultError {
        VaultError(
            .deviceNotFound,
            "This machine is not on the list of your devices, so a sign-in cannot unlock its keys. The operator of the key service can.",
            detail: .keysNotListed)
    }
}
