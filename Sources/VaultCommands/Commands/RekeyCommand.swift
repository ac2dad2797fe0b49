internal import ArgumentParser
internal import CredentialVault

struct RekeyCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract: "Replace an account's vault key, so that a thief who had it reads nothing more.",
        discussion: """
            Somebody who opened a copy of the store once has the vault key. A new password does not change the key, so \
            it opens every later copy, too. vault rekey makes a new vault key, seals the tokens and all items under \
            it, and renews the refresh token.

              vault rekey
              vault rekey --pin

            The unlock method that you use stays, with the same secret. All other unlock methods end, because they \
            hold the old key. So vault asks for the password, unless you name another method. If somebody else may \
            know your password, change it at the same time: vault passwd --drop-other-methods

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
        try await unlock.requireUnlocked(
            [kind], of: account, in: vault, terminal, changesMethods: true, isQuiet: global.json)
        try await unlock.requireUseful(kind, of: account, in: vault, terminal, isQuiet: global.json)
        var isAgreed = false
        let (session, replacement) = try await unlock.asking(for: kind, of: account, in: vault, terminal) {
            method -> (session: Session?, replacement: VaultKeyReplacement) in
            if !yes && !isAgreed {
                try await NewVaultKey.requireConsent(
                    toKeep: kind, of: account, to: "replace the vault key", "Replace the vault key?", terminal, global)
            }
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

    private struct Report: Encodable {
        let replaced: Bool
        let kept: String
        let ended: [String]
        let key: NewVaultKey.Report
    }
}
