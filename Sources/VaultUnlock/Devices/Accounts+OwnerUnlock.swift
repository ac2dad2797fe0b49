package import Foundation
package import KeyServiceClient
internal import VaultBase
package import VaultStorage

/// The answer of the key service about the locked keys of this machine, after their owner signed in.
package struct OwnerUnlock: Sendable {
    /// A keyslot whose key stays locked.
    package struct Refusal: Sendable {
        package let slot: Keyslot
        package let reason: VaultError
    }

    /// The keyslots whose keys were unlocked.
    package internal(set) var unlocked: [Keyslot] = []
    /// The keyslots whose keys stay locked.
    package internal(set) var refused: [Refusal] = []

    package init() {}
}

// A locked key, and an owner who signs in at the provider to unlock it.
extension Accounts {
    /// Whether a sign-in may unlock keys of this machine, as far as this machine knows. Asks no server.
    ///
    /// - Returns: false only if ``requireOwnerUnlock(of:)`` would refuse. True also if the store cannot be read.
    package func mayBeUnlockedByOwner(_ account: Account) async -> Bool {
        guard account.canHaveOwner else { return false }
        return (try? await mayBeListed(account)) ?? true
    }

    /// Returns the times from which a sign-in can unlock keys again, by the ids of the keys, as far as this machine knows.
    /// Asks no server. A key that a sign-in may unlock now is not among them.
    package func ownerUnlockTimes(of account: Account) async -> [String: Date] {
        // Notes that cannot be read count as none: the key service decides.
        let notes = try? await KeyslotNotes(store: store, account: account.id).reading()
        return notes?.ownerUnlockTimes(now: clock.now) ?? [:]
    }

    /// Returns the refusals that a sign-in would end with now, as far as this machine knows. Asks no server.
    ///
    /// - Parameter slots: the keyslots whose keys are locked.
    /// - Returns: nil if a sign-in may unlock a key.
    package func knownOwnerRefusals(of slots: [Keyslot], _ account: Account) async -> OwnerUnlock? {
        let times = await ownerUnlockTimes(of: account)
        var result = OwnerUnlock()
        for slot in slots {
            guard let time = times[slot.keyID] else { return nil }
            result.refused.append(.init(slot: slot, reason: .unlockedToday(until: time)))
        }
        return slots.isEmpty ? nil : result
    }

    /// Checks whether a sign-in can unlock keys of this machine, before the person signs in. No token is sent.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` or `deviceNotFound` if not, or `keyServiceUnavailable`
    ///   (try again later).
    package func requireOwnerUnlock(of account: Account) async throws {
        do {
            try requireAllowedServers(of: account)
            try account.requireKeyService(for: "Unlocking by a sign-in")
            guard account.canHaveOwner else {
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
    /// - Returns: the keyslots whose keys were unlocked, and those whose keys stay locked. Their errors have one of these
    ///   codes: `keyLocked` (the key was unlocked in the last 24 hours, or only the operator can unlock it),
    ///   `deviceNotFound` (the key is not on the list), or one of those below.
    /// - Throws: ``VaultError``: `deviceNotFound` (the list has no key of this machine), `configurationInvalid` (the
    ///   token is not good enough), or `keyServiceUnavailable` (try again later).
    package func unlockKeys(of account: Account, _ token: OwnerToken) async throws -> OwnerUnlock {
        do {
            var result = OwnerUnlock()
            try requireAllowedServers(of: account)
            guard let service = try services.deviceLists(account.keyServiceURL) else { return result }
            let listed = try await service.listedKeys(accessToken: token)
            guard listed.contains(where: { account.oprfKeys.contains($0.id) }) else { throw VaultError.keysNotListed }
            let notes = KeyslotNotes(store: store, account: account.id)
            let noted = await refusedKeyslots(of: account)
            let times = await ownerUnlockTimes(of: account)
            for slot in account.keyslots where slot.isOPRF {
                guard let key = listed.first(where: { $0.id == slot.keyID }) else {
                    if noted[slot.id] == .locked { result.refused.append(.init(slot: slot, reason: .keyNotListed)) }
                    continue
                }
                guard key.isLocked else { continue }
                do {
                    try await service.unlockKey(id: key.id, accessToken: token)
                    result.unlocked.append(slot)
                } catch {
                    guard var reason = VaultError.converting(error) as? VaultError else { throw error }
                    if (error as? KeyServiceError)?.code == .unlockedToday {
                        if let time = times[key.id] { reason = .unlockedToday(until: time) }
                        try? await notes.noteOwnerUnlock(of: slot, of: account, now: clock.now, isRefused: true)
                    }
                    // Go on, because the key service may unlock another key.
                    result.refused.append(.init(slot: slot, reason: reason))
                    continue
                }
                // Otherwise the next login would pass over the unlock method. If this fails, the key is unlocked anyway.
                try? await notes.forgetRefusal(of: slot)
                try? await notes.noteOwnerUnlock(of: slot, of: account, now: clock.now, isRefused: false)
            }
            return result
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

extension Account {
    /// Whether its keys can have an owner who signs in.
    fileprivate var canHaveOwner: Bool { method == .openIDConnect && !oprfKeys.isEmpty }
}

extension VaultError {
    fileprivate static var keysNotListed: VaultError {
        VaultError(
            .deviceNotFound,
            "This machine is not on the list of your devices, so a sign-in cannot unlock its keys. The operator of the key service can.",
            detail: .keysNotListed)
    }

    fileprivate static func unlockedToday(until time: Date) -> VaultError {
        VaultError(
            .keyLocked,
            "The key was unlocked by a sign-in in the last 24 hours. Try again after \(time.localText), or ask the operator of the key service to unlock the key."
        )
    }

    fileprivate static var keyNotListed: VaultError {
        VaultError(
            .deviceNotFound,
            "The key is not on the list of your devices, so a sign-in cannot unlock the key. The operator of the key service can.",
            detail: .keysNotListed)
    }
}
