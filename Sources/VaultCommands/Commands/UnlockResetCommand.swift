internal import ArgumentParser
internal import CredentialVault

extension UnlockCommand {
    struct Reset: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "reset",
            abstract: "Unlock the locked unlock methods of an account with a sign-in in the browser.",
            discussion: """
                  vault unlock reset
                  vault login

                After too many wrong guesses, the key service locks the key of an unlock method. If its operator allows \
                it, a fresh sign-in at your identity provider unlocks each key at most once in 24 hours. You still need \
                the right password or PIN. The next right login with this unlock method makes a new key if it can. If \
                the new key gets locked, a sign-in can unlock it at once.

                If an unlock method stays locked, vault names it and the reason, also if vault unlocked another one. The \
                first reason sets the exit status: 80 if a sign-in unlocked the key in the last 24 hours, or if only \
                the operator can unlock it; 66 if the key is not on the list of devices; 69 if the key service did not \
                answer. With --json, see unlocked and still_locked.

                If no unlock method is locked, or if a sign-in cannot unlock one yet, vault says so before the sign-in. \
                If this machine was revoked, no sign-in helps: register again.

                Only the unlock methods of this machine are unlocked, and only if the list of devices has this \
                machine. If this machine was never put on the list, vault says so before the sign-in. vault sends the \
                key service an access token, which is only for this service.

                The next login says that a sign-in unlocked the unlock method.
                """)

        @OptionGroup var user: UserOption
        @OptionGroup var redirect: RedirectOptions
        @OptionGroup var global: GlobalOptions

        private struct Report: Encodable {
            struct Locked: Encodable {
                let kind: String
                /// The word of the error's code.
                let code: String
                let reason: String
                let keyId: String
            }

            let unlocked: [String]
            /// The unlock methods that stay locked; nil for none.
            var stillLocked: [Locked]?
        }

        func run() async throws {
            let terminal = try await Asking.terminal()
            let settings = try await Settings(global)
            let account = try await user.account(in: try await global.openVault())
            let configuration = try configuration(settings, account)
            let vault = try await global.openVault { $0 = configuration }
            do {
                try await unlock(account, vault, settings, configuration, terminal)
            } catch let error as VaultError
                where error.detail == .keysNotListed || error.detail == .ownerUnlockOff || error.code == .keyLocked
            {
                let mayBeListed = error.detail == .keysNotListed
                let advice = await Self.advice(for: account, vault, mayBeListed: mayBeListed)
                // The hint for an unknown device is the list, which this machine perhaps cannot open. The hint for a
                // locked key is this command.
                let text = error.detail == .ownerUnlockOff ? error.sentences : error.description
                throw error.saying("\(text) \(advice)")
            }
        }

        private func unlock(
            _ account: Account, _ vault: Vault, _ settings: Settings, _ configuration: VaultConfiguration,
            _ terminal: any Terminal
        ) async throws {
            let (locked, unknown) = try await stillLocked(account, vault)
            guard !locked.isEmpty || unknown else { return await report(OwnerUnlock(), account, vault) }
            try await Spinner.during("Asking the key service", isQuiet: global.json) {
                try await vault.accounts.requireOwnerUnlock(of: account)
            }
            if !unknown, let known = try await vault.accounts.knownOwnerRefusals(of: locked, account) {
                return try await finish(known, account, vault)
            }
            let isPrivate = try redirect.isPrivate(settings)
            let login = try await signIn(vault, configuration, account, isPrivate: isPrivate, terminal)
            let result = try await Spinner.during("Unlocking", isQuiet: global.json) {
                try await vault.ownAuth.unlockKeys(of: account, with: login)
            }
            try await finish(result, account, vault)
        }

        private func finish(_ result: OwnerUnlock, _ account: Account, _ vault: Vault) async throws {
            await report(result, account, vault)
            if let error = Self.error(for: result.refused) { throw error }
        }

        /// The keyslots of this machine whose keys the key service says are locked, and whether it gave no answer about
        /// another key.
        ///
        /// - Throws: ``VaultError`` with code `deviceRevoked`.
        private func stillLocked(
            _ account: Account, _ vault: Vault
        ) async throws -> (locked: [Keyslot], unknown: Bool) {
            try await Spinner.during("Asking the key service", isQuiet: global.json) {
                let answers = try await vault.accounts.recheckLocks(
                    of: account, asksAll: true, within: UnlockOptions.glance)
                try await vault.accounts.requireOpenable(account, within: UnlockOptions.glance)
                let slots = account.keyslots.filter { $0.kind.isGuessable && $0.needsKeyService }
                let unknown = slots.isEmpty || slots.contains { answers[$0.id] == nil }
                return (slots.filter { answers[$0.id] == .locked }, unknown)
            }
        }

        private func report(_ result: OwnerUnlock, _ account: Account, _ vault: Vault) async {
            guard !global.json else {
                let locked = result.refused.map {
                    Report.Locked(
                        kind: $0.slot.kind.rawValue, code: $0.reason.code.name, reason: $0.reason.description,
                        keyId: $0.slot.keyID)
                }
                let unlocked = result.unlocked.map(\.kind.rawValue)
                return Output.json(Report(unlocked: unlocked, stillLocked: locked.isEmpty ? nil : locked))
            }
            let name = Printable.text(account.displayName)
            guard !result.unlocked.isEmpty else {
                // If a key stays locked, the error says so.
                if result.refused.isEmpty { Output.line("No unlock method of \(name) is locked.") }
                return
            }
            Output.line(
                "Unlocked: \(result.unlocked.map { $0.label ?? $0.kind.displayName }.joined(separator: ", ")).")
            Output.line("Next: vault login \(await vault.storage.userOption(of: account.id))")
        }

        /// The error that names each unlock method that stays locked; nil for none. Its code is that of the first reason.
        private static func error(for refused: [OwnerUnlock.Refusal]) -> VaultError? {
            guard let first = refused.first?.reason else { return nil }
            let text = refused.map { refusal in
                // Without an answer, the key service may have unlocked the key.
                let isKnown = ![.keyServiceUnavailable, .cancelled].contains(refusal.reason.code)
                let state = isKnown ? "stays locked" : "may still be locked"
                return "The \(refusal.slot.kind.displayName) \(state). \(refusal.reason.description)"
            }
            return VaultError(first.code, text.joined(separator: " "), detail: first.detail, underlying: first)
        }

        /// What the person can do if no sign-in unlocks the keys.
        ///
        /// - Parameter mayBeListed: whether a sign-in could unlock them if this machine was on the list.
        private static func advice(for account: Account, _ vault: Vault, mayBeListed: Bool) async -> String {
            let methods = (try? await vault.storage.keyslotSummaries(of: account.id)) ?? []
            let locked = methods.filter { $0.state == .locked }.map(\.id)
            let slots = account.keyslots.filter(\.isOPRF)
            // If no key is known to be locked, only a single key can be named.
            let keys = slots.filter { locked.contains($0.id) || slots.count == 1 }.map(\.keyID)
            let unlocking = "For the operator: \(Hints.operatorsUnlocking(keys.isEmpty ? ["KEY"] : keys))"
            // With a recovery code or offline, no machine is put on the list.
            let others = methods.filter {
                $0.state == .usable && $0.kind != .recovery && $0.kind != .offline && MethodKind.of($0.kind) != nil
            }
            let user = await vault.storage.userOption(of: account.id)
            guard mayBeListed, !locked.isEmpty, let other = others.first else {
                guard let other = others.first ?? methods.first(where: { $0.state == .usable && $0.kind == .recovery })
                else { return unlocking }
                let name = other.kind.displayName
                return "\(unlocking). The \(name) still works: vault login \(other.kind.option) \(user)"
            }
            return
                """
                \(unlocking). To put this machine on the list with the \(other.kind.displayName): \
                vault devices list \(other.kind.option) \(user). Then try again.
                """
        }

        /// The settings for a sign-in at the account's own provider.
        private func configuration(_ settings: Settings, _ account: Account) throws -> VaultConfiguration {
            var configuration = try settings.configuration()
            if configuration.issuer != account.id.issuer {
                // The client of the settings belongs to another provider.
                configuration.issuer = account.id.issuer
                configuration.clientID = account.clientID
            } else if configuration.clientID != nil, let path = settings.clientSecretFile {
                configuration.clientSecret = try ClientSecretFile(path: path).read()
            }
            configuration.redirectURI = redirect.redirectURI ?? configuration.redirectURI
            configuration.signInParameters = try Settings.parameters { settings[$0] }.checked()
            return configuration
        }

        /// Lets the person sign in, even if the browser has a session at the provider.
        private func signIn(
            _ vault: Vault, _ configuration: VaultConfiguration, _ account: Account, isPrivate: Bool,
            _ terminal: any Terminal
        ) async throws -> SignInResult {
            let status = try StatusChannel(redirect.statusDescriptor)
            defer { Spinner.stopAll() }
            let parameters = SignInParameters(
                prompt: "login", loginHint: account.email ?? account.preferredUsername,
                additionalParameters: ["max_age": "0"])
            let opensAtOnce = redirect.opensBrowser
            let login = try await BrowserLogin(
                options: redirect, isPrivate: isPrivate, redirectURI: configuration.redirectURI, status: status,
                terminal: terminal, isQuiet: global.json
            ).run(vault) {
                try await vault.auth.signIn(
                    BrowserSignIn(using: $0, redirect: $1, opensAtOnce: opensAtOnce, parameters: parameters))
            }
            status.tell(.signedIn(login.account))
            if !global.json { Output.note("Signed in as \(SigningIn.name(of: login)).") }
            return login
        }
    }
}
