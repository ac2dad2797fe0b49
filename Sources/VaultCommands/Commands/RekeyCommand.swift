internal import ArgumentParser
internal import CredentialVault

struct RekeyCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract: "Replace an account's vault key, so that a thief who had it reads nothing more.",
        discussion: """
            Somebody who opened a copy of the store once has the vault key. A new password does not change the key, so \
            it opens every later copy, too. vault rekey makes a new vault key, seals the tokens and all items under it, \
            and renews the refresh token.

              vault rekey
              vault rekey --pin

            The unlock method that you use stays, with the same secret. All other unlock methods end, because they hold the old key. \
            If somebody else may know your password, change it at the same time: vault passwd --drop-other-methods

            Sessions in the agent and in other programs lock, and you log in again. If vault rekey is interrupted, the \
            account has its old or its new vault key, and nothing is lost.
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    @Flag(help: "Do not ask before the other unlock methods end.")
    var yes = false

    func run() async throws {
        let terminal = try await Asking.terminal()
        let vault = try await unlock.openVault(global)
        try unlock.requireSecret()
        let account = try await user.account(in: vault)
        try account.requireKeyService(for: "A new vault key")
        try vault.storage.policy.requireAllowedServers(of: account)
        let kind = try unlock.kind(for: account, isReusable: true)
        try await unlock.requireUseful(kind, of: account, in: vault, terminal, isQuiet: global.json)
        var isAgreed = false
        let (session, replacement) = try await unlock.asking(for: kind, of: account, in: vault, terminal) {
            method -> (session: Session?, replacement: VaultKeyReplacement) in
            if !isAgreed { try await requireConsent(to: kind, account, terminal) }
            isAgreed = true
            return try await Spinner.during("Replacing the vault key", isQuiet: global.json) {
                do {
                    return try await vault.ownAuth.replaceVaultKey(of: account, keeping: method)
                } catch {
                    throw VaultError.converting(error)
                }
            }
        }
        await Hardware(try await Settings(global)).forgetEnded(of: account, in: vault)
        let new = try await NewVaultKey(replacement, of: account.id, session, global)
        if global.json {
            return try Output.importantJSON(
                Report(replaced: true, kept: kind.rawValue, ended: new.ended, key: new.report))
        }
        Output.line("\(Printable.text(account.displayName)) has a new vault key.")
        new.tell(keeping: kind)
    }

    /// Asks before other unlock methods end.
    private func requireConsent(to kept: Keyslot.Kind, _ account: Account, _ terminal: any Terminal) async throws {
        // Of several pieces of hardware only the one that is there stays.
        let others = account.keyslots.filter { $0.kind != kept }
        guard !yes, !others.isEmpty else { return }
        let names = others.map { Printable.text($0.label ?? $0.kind.listName) }.joined(separator: ", ")
        guard !global.json, terminal.isInteractive else {
            throw VaultError(
                .configurationInvalid, "These unlock methods would end: \(names). To replace the vault key, add --yes.")
        }
        terminal.tell("These unlock methods end: \(names). You can add them again afterwards.")
        guard try await terminal.confirm("Replace the vault key?") else {
            throw VaultError(.cancelled, "Nothing was changed.")
        }
    }

    private struct Report: Encodable {
        let replaced: Bool
        let kept: String
        let ended: [String]
        let key: NewVaultKey.Report
    }
}
