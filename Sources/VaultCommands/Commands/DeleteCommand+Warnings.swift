internal import CredentialVault
internal import VaultBase

// What a person should know before the question whether to delete an account.
extension DeleteCommand {
    /// Tells the person what stays behind if a server does not answer, or if nothing opens the account.
    ///
    /// - Parameter isOpen: whether an open session can revoke the token.
    /// - Returns: why the identity provider cannot revoke the token now; nil if it answers, or if it is not asked.
    func tellWhatStays(
        _ account: Account, isOpen: Bool, _ vault: Vault, _ terminal: any Terminal
    ) async throws -> VaultError? {
        let hasToken = try? await vault.storage.hasItem(.refreshToken, of: account.id)
        do {
            try await Spinner.during("Asking the key service", isQuiet: global.json) {
                // Waits as long as the later requests do, because they fail after that.
                try await vault.accounts.requireKeyService(of: account, within: .seconds(TimeLimits.longest.answer))
            }
        } catch let error as VaultError where error.code == .keyServiceUnavailable {
            // With an unlock method that needs no key service, the account opens and the token can be revoked.
            let isOpenable = isOpen || account.keyslots.contains { !$0.needsKeyService }
            let token = hasToken == false || isOpenable ? "" : ", and its refresh token is not revoked"
            terminal.tell(
                """
                vault: \(error.fact) If you delete \(Printable.text(account.displayName)) now, its keys stay at the key \
                service\(token). To delete everything, answer no, and try again when the key service answers.
                """
            )
        } catch let error as VaultError where error.code != .cancelled {
            // The key service answers, or the policy forbids to ask it.
        }
        guard hasToken != false else { return nil }
        guard let outage = try await providerOutage(account) else {
            if !isOpen { await tellLocked(account, vault, terminal) }
            return nil
        }
        terminal.tell(
            """
            vault: \(outage.fact) If you delete \(Printable.text(account.displayName)) now, its login stays valid at \
            \(RemainingAccess.pages(of: account)). To revoke it, answer no, and try again when the identity provider \
            answers.
            """
        )
        return outage
    }

    /// Tells the person if everything is locked that could open the account to revoke its token.
    private func tellLocked(_ account: Account, _ vault: Vault, _ terminal: any Terminal) async {
        guard !unlock.isNamed, !unlock.password.isGiven, await LockedOut.known(of: account, in: vault) != nil else {
            return
        }
        let way = await Spinner.during("Asking the key service", isQuiet: global.json) {
            // The operator may have unlocked a key since then.
            _ = try? await vault.accounts.recheckLocks(of: account, within: UnlockOptions.glance)
            return await LockedOut.known(of: account, in: vault)?.wayBack("delete")
        }
        guard let way else { return }
        terminal.tell(
            """
            vault: If you delete \(Printable.text(account.displayName)) now, its login stays valid at \
            \(RemainingAccess.pages(of: account)). To revoke it, first answer no. \(way)
            """
        )
    }

    /// Asks an OpenID provider for its metadata.
    ///
    /// - Returns: why it does not answer; nil if it does, or if the account has no OpenID provider.
    private func providerOutage(_ account: Account) async throws -> VaultError? {
        guard account.method == .openIDConnect else { return nil }
        do {
            let transport = try await Settings(global).transport()
            try await Spinner.during("Asking the identity provider", isQuiet: global.json) {
                _ = try await OpenIDProvider(
                    issuer: account.id.issuer, clientID: account.clientID, transport: transport,
                    clock: SystemWallClock()
                ).completeMetadata()
            }
            return nil
        } catch {
            guard let error = VaultError.converting(error) as? VaultError else { throw error }
            guard error.code != .cancelled else { throw error }
            return error.isOutage ? error : nil
        }
    }

    /// The unlock methods whose keys at the key service only an opened account can end.
    static func needingSecret(of account: Account) -> [Keyslot.Kind] {
        let slots = account.keyslots.filter {
            $0.needsKeyService && !$0.endSignature.isEmpty && $0.endSignature.count != Signature.size
        }
        return MethodKind.all.map(\.kind).filter { kind in slots.contains { $0.kind == kind } }
    }
}
