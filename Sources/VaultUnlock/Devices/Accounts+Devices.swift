internal import KeyServiceClient
internal import Logging
internal import VaultBase
package import VaultStorage

// The list of an owner's devices at the key service.
extension Accounts {
    /// Returns the devices of an account's owner, the oldest first. First puts the keys of this device on the list.
    ///
    /// - Parameter token: an access token of the owner, which goes to the key service.
    package func devices(
        of id: AccountID, _ token: AccessToken, vaultKey: VaultKey
    ) async throws -> [AccountDevice] {
        try await VaultError.converting {
            let account = try await account(id)
            let (service, owner) = try await deviceLists(of: account, token, vaultKey)
            await claimKeys(of: account, service, vaultKey, isAsked: true) { owner }
            let record = DeviceRecord(store: store, account: id)
            let own = Hexadecimal.text(try DeviceLabel.tag(of: account))
            var listed = try await service.listedKeys(accessToken: owner)
            let unlisted = account.oprfKeys.subtracting(listed.map(\.id))
            if !unlisted.isEmpty {
                // The service may have lost them with an older database.
                try await record.forget(unlisted)
                await claimKeys(of: account, service, vaultKey, isAsked: true) { owner }
                listed = try await service.listedKeys(accessToken: owner)
            }
            if !account.oprfKeys.isDisjoint(with: listed.map(\.id)) { await noteList(account, vaultKey) }
            var keys: [IdentifiedKey] = []
            for key in listed { keys.append(try await identified(key, account, own: own, vaultKey)) }
            return AccountDevice.devices(of: keys, own: own, ownName: try await record.name())
        }
    }

    /// Names a device. A name for another device is readable on this machine only.
    package func rename(
        _ device: AccountDevice, of id: AccountID, to name: String, _ token: AccessToken, vaultKey: VaultKey
    ) async throws {
        try await VaultError.converting {
            guard try DeviceLabel.fits(name), !name.isEmpty else {
                throw VaultError(.configurationInvalid, "The name is empty or too long. Choose another name.")
            }
            let account = try await account(id)
            try await VaultKeyRecord(store: store, account: id).require(vaultKey)
            let (service, owner) = try await deviceLists(of: account, token, vaultKey)
            let tag = try Self.tag(of: device)
            for key in device.keys {
                let label = try await DeviceLabel(shortening: name, key.kind)
                    .sealed(key.id, tag: tag, of: id, vaultKey)
                try await service.renameKey(id: key.id, label: label, accessToken: owner)
            }
            if device.isThisDevice { try await DeviceRecord(store: store, account: id).rename(to: name) }
        }
    }

    /// Seals again the names that this device gave to others: only the vault key opens them. A name that cannot be
    /// sealed now is no longer readable, and the person gives it again.
    package func resealDeviceNames(
        of id: AccountID, _ token: AccessToken, from old: VaultKey, to new: VaultKey
    ) async {
        guard await listsKeys(of: id, new), let account = try? await account(id),
            let (service, owner) = try? await deviceLists(of: account, token, new),
            let keys = try? await service.listedKeys(accessToken: owner)
        else { return }
        for key in keys where !account.oprfKeys.contains(key.id) {
            guard let label = key.label, let tag = DeviceLabel.tag(in: label),
                let opened = try? await DeviceLabel.opened(label, of: key.id, id, old),
                let sealed = try? await opened.sealed(key.id, tag: tag, of: id, new)
            else { continue }
            try? await service.renameKey(id: key.id, label: sealed, accessToken: owner)
        }
    }

    /// Ends all keys of a device for good.
    package func revoke(
        _ device: AccountDevice, of id: AccountID, _ token: AccessToken, vaultKey: VaultKey
    ) async throws {
        try await VaultError.converting {
            let (service, owner) = try await deviceLists(of: account(id), token, vaultKey)
            for key in device.keys {
                do {
                    try await service.revokeKey(id: key.id, accessToken: owner)
                } catch let error as KeyServiceError where error.code == .noSuchDevice {
                    // It is gone already, for example because an earlier call was cut off.
                }
            }
            // The next login here must not ask for a secret first. The keys are revoked also if that fails.
            if device.isThisDevice { _ = try? await requireNotRevoked(id) }
        }
    }

    // MARK: - Claims

    /// Runs a renewal that waits for the token, and then puts the keys of this device on the list. Both happen beside
    /// other work, if the settings allow it or the device is on the list already. The keys are not put there if the
    /// last try failed less than an hour ago. ``finishConfirming()`` waits for both.
    ///
    /// - Parameters:
    ///   - token: a fresh access token of the owner, which goes to the key service.
    ///   - vaultKey: the account's vault key. A key in another process does not sign.
    package func claimKeysBeside(of id: AccountID, _ token: AccessToken, _ vaultKey: VaultKey) {
        claiming.start { [self] in
            guard await listsKeys(of: id, vaultKey) else { return }
            await renewals.run(id, with: token)
            guard let account = try? await account(id), (try? requireAllowedServers(of: account)) != nil,
                let service = try? services.deviceLists(account.keyServiceURL)
            else { return }
            await claimKeys(of: account, service, vaultKey, isAsked: false) {
                try await ownerToken(of: account, token, vaultKey)
            }
        }
    }

    /// Whether the keys of this device belong on the owner's list: the settings say so, or a person asked for the list
    /// here before. A key that is missing there would outlive the revocation of the device.
    package func listsKeys(of id: AccountID, _ vaultKey: VaultKey?) async -> Bool {
        if listsDevices { return true }
        return await isListed(id, vaultKey)
    }

    /// Whether a person asked for the list here. The vault key authenticates the note: somebody who can write the disk
    /// could otherwise have a token sent to a service of their own.
    private func isListed(_ id: AccountID, _ vaultKey: VaultKey?) async -> Bool {
        guard let vaultKey, let account = try? await account(id),
            let sealed = try? await store.item(.deviceList, of: id),
            let address = try? await vaultKey.open(sealed, as: .deviceList, of: id)
        else { return false }
        return address == Array(account.keyServiceURL.utf8)
    }

    private func noteList(_ account: Account, _ vaultKey: VaultKey) async {
        guard await !isListed(account.id, vaultKey), let note = try? await listNote(of: account, vaultKey) else {
            return
        }
        try? await store.apply([note], to: account.id, sealedUnder: vaultKey)
    }

    func listNote(of account: Account, _ vaultKey: VaultKey) async throws -> StoreChange {
        let address = Array(account.keyServiceURL.utf8)
        return .putItem(.deviceList, try await vaultKey.seal(address, as: .deviceList, of: account.id))
    }

    /// Puts the new keys of this device on the list, beside other work. If no valid access token is stored, this
    /// happens with the next token.
    func claimNewKeys(of account: Account, _ vaultKey: VaultKey) async {
        // In a new task: the store does nothing for a cancelled task.
        await Task {
            guard await listsKeys(of: account.id, vaultKey),
                let token = try? await tokenForClaim(of: account, vaultKey)
            else { return }
            claimKeysBeside(of: account.id, token, vaultKey)
        }.value
    }

    /// The number of the last renewal that waits for an access token.
    package var lastWaitingRenewal: Int { renewals.last }

    /// Forgets the renewal of an account that waits for an access token, and the secret in it. A session calls it at
    /// its end.
    ///
    /// - Parameter last: ``lastWaitingRenewal`` at the start of the session. A later login may have asked for another
    ///   one.
    package func forgetWaitingRenewal(of id: AccountID, upTo last: Int) { renewals.forget(id, upTo: last) }

    /// Signs the claims that an account's keys do not have yet. It is part of a change that each login makes, because
    /// another write would make many logins at once wait.
    ///
    /// - Parameter vaultKey: the account's vault key. A key in another process does not sign.
    func missingClaims(of account: Account, _ vaultKey: VaultKey) -> StoreChange {
        DeviceRecord(store: store, account: account.id).signing(account.oprfKeys) { key in
            try? vaultKey.claim(of: key, by: account.id)
        }
    }

    /// Sends the signatures that the service does not have yet. A key that cannot be claimed must not stop the others.
    ///
    /// - Parameters:
    ///   - isAsked: whether a person asked for the list. Then it is known that the service keeps lists.
    ///   - token: returns the token for the service. It is called only if there is something to send.
    private func claimKeys(
        of account: Account, _ service: any DeviceListService, _ vaultKey: VaultKey, isAsked: Bool,
        token: () async throws -> OwnerToken
    ) async {
        if vaultKey.bytes != nil {
            try? await store.apply([missingClaims(of: account, vaultKey)], to: account.id, sealedUnder: vaultKey)
        }
        let record = DeviceRecord(store: store, account: account.id)
        guard let waiting = try? await record.begin(account.oprfKeys, at: clock.now, isAsked: isAsked),
            !waiting.isEmpty
        else { return }
        if !isAsked { guard (try? await service.keepsLists()) == true else { return } }
        var answered: Set<String> = []
        let owner: OwnerToken
        do { owner = try await token() } catch {
            logger.notice(
                "key service: the device is not listed, because there is no access token for this service",
                metadata: account.id.logMetadata)
            try? await record.finish(answered, isComplete: false)
            return
        }
        for (key, signature) in waiting {
            do {
                try await service.claimKey(id: key, signature: signature, accessToken: owner)
                answered.insert(key)
            } catch let error as KeyServiceError
                where [.ownedByAnother, .keyEnded, .keyRevoked, .keyDestroyed].contains(error.code)
            {
                answered.insert(key)
            } catch let error as KeyServiceError where [.noSuchKey, .unfinished].contains(error.code) {
                continue
            } catch {
                break
            }
        }
        try? await record.finish(answered, isComplete: answered.count == waiting.count)
    }

    // MARK: - The parts

    /// Returns the service with the lists, and the token for it. A service without lists gets no token.
    private func deviceLists(
        of account: Account, _ token: AccessToken, _ vaultKey: VaultKey
    ) async throws -> (any DeviceListService, OwnerToken) {
        try requireAllowedServers(of: account)
        try account.requireKeyService(for: "The list of devices")
        guard let service = try services.deviceLists(account.keyServiceURL), try await service.keepsLists() else {
            throw KeyServiceError(
                .noDeviceLists, "The key service of \(account.displayName) keeps no lists of devices.")
        }
        return (service, try await ownerToken(of: account, token, vaultKey))
    }

    /// Adds to a key on the list what this store knows about it.
    private func identified(
        _ key: ListedKey, _ account: Account, own: String, _ vaultKey: VaultKey
    ) async throws -> IdentifiedKey {
        var label: DeviceLabel?
        if let sealed = key.label {
            label = try await DeviceLabel.opened(sealed, of: key.id, account.id, vaultKey)
        }
        let kind = label?.kind.map(Keyslot.Kind.init(rawValue:))
        if let slot = account.keyslots.first(where: { $0.keyID == key.id }) {
            return IdentifiedKey(key: key, device: own, name: label?.name, kind: slot.kind, isOwn: true)
        }
        let isDamaged = account.damagedKeyslots.contains { $0.keyID == key.id }
        let tag = DeviceLabel.tag(in: key.label).map { Hexadecimal.text($0) }
        let alone = key.id.replacing("-", with: "")
        // A key with the tag of this device that is not in this store: perhaps somebody has a copy of the store, and
        // added an unlock method. So it is shown as another device.
        let device = isDamaged ? own : tag == own ? alone : tag ?? alone
        return IdentifiedKey(key: key, device: device, name: label?.name, kind: kind, isOwn: isDamaged)
    }

    /// The tag of a device, from its id.
    private static func tag(of device: AccountDevice) throws -> [UInt8] {
        guard let tag = Hexadecimal.decode(device.id.lowercased().utf8), tag.count == DeviceLabel.tagSize else {
            throw VaultError(.deviceNotFound, "There is no such device.")
        }
        return tag
    }
}

extension Account {
    /// The ids of the keys of protocol version 2.
    var oprfKeys: Set<String> { Set(keyslots.filter { $0.isOPRF }.map(\.keyID)) }
}

/// The one task of a process that puts keys on the list.
final class ClaimingTask: Sendable {
    private let last = Lock<Task<Void, Never>?>(nil)

    /// Starts the work, after the work that runs.
    func start(_ body: @escaping @Sendable () async -> Void) {
        last.withLock { last in
            let before = last
            last = Task {
                if let before {
                    await withTaskCancellationHandler {
                        await before.value
                    } onCancel: {
                        before.cancel()
                    }
                }
                if !Task.isCancelled { await body() }
            }
        }
    }

    /// The task that ends last.
    var task: Task<Void, Never>? { last.withLock { $0 } }
}
