internal import CredentialVault

// The command that lets a person use an account again.
extension Vault {
    /// The sentence after a lock or a log-out. If no refresh token is stored, if this machine was revoked, or if
    /// everything is locked, `vault login` cannot work.
    func wayBack(to account: Account, _ settings: Settings) async -> String {
        let hasToken = try? await storage.hasItem(.refreshToken, of: account.id)
        guard hasToken != false else { return account.signInAdvice(settings) }
        let other = await otherWayBack(to: account, settings)
        if let other { return other }
        return "To log in again: vault login \(await storage.userOption(of: account.id))"
    }

    /// The sentences after a lock of all sessions.
    func waysBack(to ids: [AccountID], _ settings: Settings) async -> [String] {
        let others = await otherWaysBack(to: ids, settings)
        guard !others.isEmpty else { return ["To open them again: vault agent unlock"] }
        var ways: [String] = []
        for id in ids where !others.contains(where: { $0.account == id }) {
            guard let name = try? await storage.account(id).displayName else { continue }
            let command = "vault agent unlock \(await storage.userOption(of: id))"
            ways.append("To open \(Printable.text(name)) again: \(command)")
        }
        return ways + others.map { $0.way }
    }

    /// A sentence for each of these accounts that neither `vault login` nor `vault agent unlock` opens.
    func otherWaysBack(
        to ids: [AccountID], _ settings: Settings
    ) async -> [(account: AccountID, way: String)] {
        var ways: [(account: AccountID, way: String)] = []
        for id in ids {
            guard let account = try? await storage.account(id) else { continue }
            await Proposed.note(account, in: self)
            if let way = await otherWayBack(to: account, settings) { ways.append((id, way)) }
        }
        return ways
    }

    /// The sentence if this machine was revoked, or if everything is locked; nil otherwise.
    private func otherWayBack(to account: Account, _ settings: Settings) async -> String? {
        let slots = (try? await storage.keyslotSummaries(of: account.id)) ?? []
        if slots.areRevoked { return account.signInAdvice(settings) }
        return await LockedOut.known(of: account, in: self)?.wayBack()
    }
}

extension Account {
    /// The sentence with the command that signs in to the account again. The command is short if the settings are those
    /// of the account.
    func signInAdvice(_ settings: Settings) -> String {
        registerCommand(settings).map { "To register again: \($0)" }
            ?? "Sign in again with the app that made the account"
    }
}
