internal import CredentialVault

extension Settings {
    /// The first command of a person without an account. Without an issuer or a key service, `vault register` would
    /// fail.
    var firstCommand: String {
        self[.issuer] == nil || self[.keyService] == nil
            ? "To set up this machine: vault setup" : "Register one: vault register"
    }
}

extension VaultError {
    /// The error of a command that needs an account, if there is none.
    static func noAccount(_ settings: Settings) -> VaultError {
        VaultError(.accountNotFound, "There is no account here yet. \(settings.firstCommand)")
    }
}
