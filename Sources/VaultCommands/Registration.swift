internal import CredentialVault

/// The second half of `vault register`: the person is known now, and the refresh token gets its password.
struct Registration {
    let vault: Vault
    let token: RefreshToken
    let alias: String?
    let source: SecretSource
    let terminal: any Terminal
    let mayLoseItems: Bool
    let isQuiet: Bool
    /// What the new password is called, where another password was asked for before.
    var prompt = "New password"

    func run() async throws {
        let accounts = vault.storage.accounts
        guard let existing = try await accounts.store.account(token.account) else {
            let password = try await source.newPassword(prompt, names: names, terminal)
            return try await store(newPassword: password, mayLoseItems: mayLoseItems)
        }
        if case .terminal = source {
            try await askAgain(existing)
        } else {
            let password = try await source.password("", terminal)
            try await keepOrReplace(password)
        }
    }

    /// With a given password: it opens the account, or becomes its new one if nothing is lost by that.
    private func keepOrReplace(_ password: borrowing SecretBytes) async throws {
        do {
            try await vault.storage.storeRefreshToken(token, withExistingPassword: password, alias: alias)
        } catch let error as VaultError
            where [.wrongSecret, .keyLocked, .keyMissing, .notEnrolled].contains(error.code)
        {
            if let objection = NewPasswordRule.objection(to: password, names: names) {
                throw VaultError(.passwordUnusable, "\(error.description) As a new one: \(objection)")
            }
            try await store(newPassword: password, mayLoseItems: mayLoseItems)
        }
    }

    /// Asks for the present password; where there is none any more, for a new one.
    private func askAgain(_ existing: Account) async throws {
        Output.note("\(existing.displayName) is registered here already. Its password keeps everything that is stored.")
        while true {
            let password = try await terminal.askSecret("Password (empty to choose a new one): ")
            if password.count == 0 { break }
            do {
                try await vault.storage.storeRefreshToken(token, withExistingPassword: password, alias: alias)
                return
            } catch let error as VaultError where error.code == .wrongSecret {
                Output.note(error.description)
            } catch let error as VaultError where error.code == .keyLocked {
                Output.note("The key is locked after too many wrong passwords: a new password is needed.")
                break
            } catch let error as VaultError where error.code == .notEnrolled {
                Output.note("The account has no password now.")
                break
            } catch let error as VaultError where error.code == .keyMissing {
                Output.note("The key service does not have the key any more: a new password is needed.")
                break
            }
        }
        let losses = try await vault.storage.accounts.losses(with: existing)
        if !losses.isEmpty && !mayLoseItems {
            let names = losses.joined(separator: ", ")
            guard try await terminal.confirm("With a new password these are lost: \(names). Go on?") else {
                throw VaultError(.cancelled, "Nothing was changed.")
            }
        }
        let password = try await source.newPassword(prompt, names: names, terminal)
        try await store(newPassword: password, mayLoseItems: true)
    }

    private func store(newPassword: borrowing SecretBytes, mayLoseItems: Bool) async throws {
        do {
            try await vault.storage.storeRefreshToken(
                token, withNewPassword: newPassword, alias: alias, replacingItems: mayLoseItems)
        } catch let error as VaultError where error.code == .accountExists {
            throw VaultError(error.code, error.description + " (--yes confirms it.)")
        }
    }

    private var names: [String] {
        [token.identity.email, token.identity.preferredUsername, token.identity.name, alias].compactMap(\.self)
    }
}

extension Terminal {
    /// Asks a question whose safe answer is no.
    func confirm(_ question: String) async throws -> Bool {
        let answer = try await ask("\(question) [y/N] ").lowercased()
        return answer == "y" || answer == "yes"
    }
}
