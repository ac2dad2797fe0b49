internal import CredentialVault

// Registering an account that is here already. An unlock method that opens the account keeps its vault key and all
// stored data.
extension Registration {
    func open(_ existing: Account, with method: UnlockMethod) async throws -> UnlockMethod {
        try await Spinner.during("Opening the account", isQuiet: isQuiet) {
            _ = try await vault.storage.storeRefreshToken(token, with: method, alias: alias)
        }
        return method
    }

    /// Asks for one unlock method after the other. If none opens the account, asks for a new password.
    func openAgain(_ existing: Account) async throws -> UnlockMethod {
        let name = Printable.text(existing.displayName)
        do {
            // Nobody types a secret in vain after a revocation.
            try await vault.accounts.requireOpenable(existing, within: UnlockOptions.glance)
        } catch let error as VaultError where [.deviceRevoked, .keyMissing].contains(error.code) {
            terminal.tell("\(name) is already registered here. \(error.description)")
            return try await storeNewAfterConsent(existing, name)
        } catch is VaultError {
            // The key service is not asked, or says nothing. The login below says why.
        }
        if let method = try await openWithOneOfMany(existing, name) { return method }
        return try await storeNewAfterConsent(existing, name)
    }

    /// Stores the tokens under a new password, after the person has agreed to the losses.
    private func storeNewAfterConsent(_ existing: Account, _ name: String) async throws -> UnlockMethod {
        let losses = try await losses(of: existing)
        if !losses.isEmpty && !mayLoseItems {
            let slots = (try? await vault.storage.keyslotSummaries(of: existing.id)) ?? []
            let locked = slots.filter { $0.state == .locked }.compactMap(\.keyID)
            if !locked.isEmpty {
                await Proposed.noteLock()
                terminal.tell(
                    "To keep the items, you can also answer no, and have the key unlocked. \(Hints.unlocking(locked)).")
            }
            if await isHeld(existing.id) {
                let user = await vault.storage.userOption(of: existing.id)
                terminal.tell(
                    "\(name) is still open in the agent. To keep the items, answer no. Then copy each one: vault item get NAME \(user)"
                )
            }
            guard try await terminal.confirm("A new password deletes: \(losses). Continue?") else {
                throw VaultError(.cancelled, "Nothing was changed.")
            }
        }
        return try await storeNew(mayLoseItems: true)
    }

    /// - Returns: nil if no unlock method opens the account.
    private func openWithOneOfMany(_ existing: Account, _ name: String) async throws -> UnlockMethod? {
        terminal.tell("\(name) is already registered here. To keep its items and unlock methods, open it now.")
        let typed = MethodKind.all.filter {
            $0.secretName != nil && $0.kind != .offline && existing.keyslot($0.kind) != nil && policy.allows($0.kind)
        }
        let hasHardware = existing.keyslots.contains { $0.kind.hasProvider && policy.allows($0) }
        for known in typed {
            let isLast = known.kind == typed.last?.kind && !hasHardware
            let otherwise = isLast ? "empty to choose a new password" : "empty for another unlock method"
            guard let method = try await ask(known, otherwise, existing) else { continue }
            if known.kind != .password {
                Output.note(
                    "The password stays as it is. To choose a new one: \(Proposed.command("passwd \(known.kind.option)"))"
                )
            }
            return method
        }
        return try await askForHardware(existing)
    }

    /// - Returns: nil if this method does not open the account, or if the person wants another one.
    private func ask(_ known: MethodKind, _ otherwise: String, _ existing: Account) async throws -> UnlockMethod? {
        guard let secretName = known.secretName else { return nil }
        let slot = try await vault.storage.keyslotSummaries(of: existing.id).first { $0.kind == known.kind }
        if slot?.guessesRemaining == 1 { terminal.tell(LastGuess.warning(of: known.kind)) }
        var refused = RefusedSecrets(of: known.kind)
        while true {
            let secret = SharedSecret(try await terminal.askSecret("\(secretName) (\(otherwise)): "))
            guard secret.bytes.count > 0 else { return nil }
            guard try !refused.contain(secret, terminal) else { continue }
            do {
                return try await open(existing, with: .typing(secret, as: known.kind))
            } catch let error as VaultError where Self.meansAnotherMethod(error) {
                if known.kind == .password, let method = try await openWithoutKeyService(existing, secret, after: error)
                {
                    return method
                }
                // The usual advice is to register again, and the person is doing that.
                let isLocked = error.code == .keyLocked || error.guessesRemaining == 0
                terminal.tell(
                    isLocked ? "The key service has locked this \(known.kind.displayName)." : error.description)
                if isLocked || error.code != .wrongSecret { return nil }
                refused.add(secret, error)
                // The person has signed in for this, and may still want to try.
                if error.guessesRemaining == 1 {
                    let question = "\(LastGuess.warning(of: known.kind)) Use it?"
                    guard try await terminal.confirm(question) else { return nil }
                }
            }
        }
    }

    /// - Returns: nil if no hardware is there, wanted or working.
    private func askForHardware(_ existing: Account) async throws -> UnlockMethod? {
        let slots = existing.keyslots.filter { $0.kind.hasProvider && policy.allows($0) }
        guard !slots.isEmpty else { return nil }
        let found = await Spinner.during("Looking for hardware", isQuiet: isQuiet) {
            await hardware.availability(of: slots, within: Hardware.glance)
        }
        for slot in slots where found[slot.id] == .available {
            let name = Printable.text(slot.label ?? "the \(slot.kind.displayName)")
            guard try await terminal.confirm("Open the account with \(name)?") else { continue }
            let prompt = TerminalPrompt(terminal: terminal, source: nil)
            do {
                return try await open(existing, with: .hardware(hardware.provider(slot.kind), prompt))
            } catch let error as VaultError where error.code != .cancelled {
                Output.note(error.text)
            }
        }
        return nil
    }

    /// Opens the account by its offline keyslot, which has the same password, if the key service has lost or locked the
    /// password's key. The password then gets a new key.
    func openWithoutKeyService(
        _ existing: Account, _ password: SharedSecret, after error: VaultError
    ) async throws -> UnlockMethod? {
        guard [.keyLocked, .keyMissing, .deviceRevoked].contains(error.code), existing.keyslot(.offline) != nil,
            policy.allows(.offline)
        else { return nil }
        do {
            _ = try await open(existing, with: .offline(password))
        } catch let error as VaultError where [.wrongSecret, .offlineTooLong, .tooManyAttempts].contains(error.code) {
            return nil
        }
        guard let vaultKey = try await vault.auth.session?.openVaultKey() else { return .offline(password) }
        try await vault.accounts.putPassword(password.bytes, of: existing, vaultKey: vaultKey)
        Output.note("Opened the account without the key service. The password has a new key there now.")
        return .password(password)
    }
}
