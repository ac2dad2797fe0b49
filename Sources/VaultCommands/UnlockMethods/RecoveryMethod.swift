internal import CredentialVault

extension MethodKind {
    static let recovery = MethodKind(
        kind: .recovery, option: "recovery-code",
        help: "Open the account with the recovery code. vault prints a new code.",
        secretName: "Recovery code",
        addition: Addition { request, opened in
            let code = try await NewRecoveryCode.made(
                for: request.account, vaultKey: opened.vaultKey, in: request.accounts,
                isQuiet: request.options.global.json
            ).get()
            return Added(
                code: code, hint: "If you forget the password: vault passwd --recovery-code")
        },
        isOnlyOnRequest: true)
}
