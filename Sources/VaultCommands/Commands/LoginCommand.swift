internal import ArgumentParser
internal import CredentialVault
internal import Foundation

struct LoginCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Sign in again with the password, a PIN or hardware, without a browser.",
        discussion: """
            Opens the account, renews its tokens at the identity provider and stores them. Each wrong password is \
            counted by the key service, which locks the key after a few. Without an option, hardware that is there is \
            used, else the PIN, else the password; when one of them is locked, or nothing is typed for its PIN, the \
            next. See "vault unlock".

            If XDG_RUNTIME_DIR is set, the agent keeps the session open: other commands then ask for nothing. The agent \
            starts by itself. See "vault agent".

            An account that may be opened without the network is opened so when the key service or the identity \
            provider cannot be reached.
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var holding: HoldingOptions
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await unlock.openVault(global)
        let account = try await user.account(in: vault)
        let session = try await unlock.session(of: account, in: vault, isQuiet: global.json)
        let token = try await Spinner.during("Signing in", isQuiet: global.json) {
            try await currentToken(of: session, mayFail: vault.accounts.opensOffline(account))
        }
        var code: Result<NewRecoveryCode, VaultError>?
        if unlock.usesRecoveryCode {
            code = try await NewRecoveryCode.made(
                for: account, vaultKey: session.openVaultKey(), in: vault.accounts, isQuiet: global.json)
        }
        let newCode = try? code?.get()
        let isHeld = try await holding.leaveToAgent(session, unlock.agent, global)
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
        let end = (token?.expiresAt).map { " The access token is valid until \($0.formatted(.iso8601))." }
        let name = Printable.text(account.displayName)
        if session.isOffline {
            Output.line(
                "Opened \(name) without the network.\(end ?? " There is no valid access token until it is back.")")
        } else {
            Output.line("Signed in as \(name).\(end ?? "")")
        }
        _ = try code?.get()
    }

    /// A new token, or without the network the one that is stored, as long as it is valid.
    private func currentToken(of session: Session, mayFail: Bool) async throws -> AccessToken? {
        do {
            return try await session.patientAccessToken(forceRefresh: true)
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
        let expiresAt: Date?
        let scope: String?
        let offline: Bool
        /// Whether the agent holds the session open.
        let agent: Bool
        /// The new one, when the old one was used.
        let recoveryCode: String?
    }
}
