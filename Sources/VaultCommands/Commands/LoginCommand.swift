internal import ArgumentParser
internal import CredentialVault
internal import Foundation
internal import VaultBase

struct LoginCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Sign in again with the password, a PIN or hardware, without a browser.",
        discussion: """
            vault opens the account, renews its tokens at the identity provider, and stores them. The key service \
            counts wrong passwords. After a few wrong passwords it locks the key.

            If you name no unlock method, vault tries the desktop keyring, hardware, the PIN, and then the password. \
            If an unlock method is missing or locked, or you only press Enter, vault tries the next one. If you name one \
            that is still locked, for example with --pin, vault asks for no secret, and names the command that helps. \
            After a wrong password or PIN, vault asks again while at least two guesses are left. If nobody can be \
            asked, vault tries only the desktop keyring. See "vault unlock".

            If XDG_RUNTIME_DIR is set, the agent starts by itself and keeps the session open. Other commands then do \
            not ask for a password. See "vault agent".

            With --exclusive, the agent locks the sessions of all other accounts. If all unlock methods of one of \
            these accounts are locked, vault asks first, at a terminal. If you answer no, the other sessions stay \
            open, and your new session does not.

            If the key service or the identity provider cannot be reached, vault opens the account without the \
            network. You must have allowed that before: vault unlock add offline
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var holding: HoldingOptions
    @OptionGroup var consent: ClosingOptions
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await unlock.openVault(global)
        let account = try await user.account(in: vault)
        let session = try await unlock.session(of: account, in: vault, needsToken: true, global)
        let token = try await Spinner.during("Signing in", isQuiet: global.json) {
            let end = try await vault.storage.endOfOpeningOffline(of: account.id)
            return try await currentToken(of: session, mayFail: end != nil || !account.hasKeyService)
        }
        var code: Result<NewRecoveryCode, VaultError>?
        if unlock.usesRecoveryCode {
            code = try await NewRecoveryCode.made(
                for: account, vaultKey: session.openVaultKey(), in: vault, isQuiet: global.json)
        }
        let newCode = try? code?.get()
        let isHeld = try await holding.leaveToAgent(session, unlock.agent, saysYes: consent.yes, global)
        if global.json {
            try Output.importantJSON(
                Report(
                    subject: account.id.subject, issuer: account.id.issuer, expiresAt: token?.expiresAt,
                    scope: token?.scope, offline: session.isOffline, agent: isHeld,
                    recoveryCode: newCode?.text))
            try await newCode?.add()
            _ = try code?.get()
            return
        }
        try await newCode?.showAndAdd()
        let end = token.map { token in
            token.expiresAt.map { " The access token is valid until \($0.localText)." }
                ?? " The access token has no known expiry."
        }
        let name = Printable.text(account.displayName)
        if session.isOffline {
            Output.line(
                "Opened \(name) without the network.\(end ?? " No access token is valid until the network is back.")")
        } else {
            Output.line("Signed in as \(name).\(end ?? "")")
        }
        _ = try code?.get()
    }

    /// A new token. Without the network: the stored token while it is valid, then nil.
    private func currentToken(of session: Session, mayFail: Bool) async throws -> AccessToken? {
        do {
            return try await session.retryingAccessToken(forceRefresh: true)
        } catch let error as VaultError where error.isOutage && mayFail {
            do {
                return try await session.accessToken()
            } catch let error as VaultError where error.isOutage {
                return nil
            }
        }
    }

    private struct Report: Encodable {
        let subject: String
        let issuer: String
        /// Nil without a token, or if the expiry is not known.
        let expiresAt: Date?
        let scope: String?
        let offline: Bool
        /// Whether the agent holds the session open.
        let agent: Bool
        /// The new recovery code, if the old one opened the account.
        let recoveryCode: String?
    }
}
