internal import CredentialVault

extension Way {
    static let recovery = Way(
        kind: .recovery, option: "recovery-code",
        help: "Open the account with the recovery code, which is replaced by a new one.",
        secret: Secret(name: "Recovery code") { .recoveryCode($0) },
        addition: Addition { request, opened in
            let code = try await NewRecoveryCode.made(
                for: request.account, vaultKey: opened.vaultKey, in: request.accounts,
                isQuiet: request.options.global.json
            ).get()
            return Added(
                code: code, hint: "With it, when the password is forgotten: vault passwd --recovery-code")
        },
        isOnlyOnRequest: true)
}
