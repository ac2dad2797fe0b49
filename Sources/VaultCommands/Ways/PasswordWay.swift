internal import CredentialVault

extension Way {
    /// Every account begins with it: it is changed by `vault passwd`.
    static let password = Way(
        kind: .password, option: "password", help: "Open the account with the password, whatever else there is.",
        secret: Secret(name: "Password") { .password($0) })
}
