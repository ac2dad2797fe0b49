internal import CredentialVault

extension MethodKind {
    /// Every account begins with a password. `vault passwd` changes it.
    static let password = MethodKind(
        kind: .password, option: "password", help: "Open the account with the password, and try nothing else.",
        secretName: "Password")
}
