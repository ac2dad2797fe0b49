internal import CredentialVault

extension AccountID {
    /// The command that signs in to this account and gets a refresh token. It works with any settings. Nil if only the
    /// app that made the account can sign in.
    ///
    /// - Parameters:
    ///   - keyServiceURL: the key service of the account; empty for none.
    ///   - kind: without a key service, the unlock method that opens it.
    func registerCommand(
        _ method: SignInMethod, clientID: String, keyServiceURL: String, opensWith kind: Keyslot.Kind = .password
    ) -> String? {
        let signIn: String
        switch method {
        case .openIDConnect: signIn = ""
        case .backend: signIn = "--method backend "
        case .passwordBackend: signIn = "--method password "
        case .serverOAuth, .serverToken: signIn = "--method server "
        default: return nil
        }
        // An app's own hardware has no option.
        guard !keyServiceURL.isEmpty || MethodKind.of(kind) != nil else { return nil }
        let isProvider = method == .openIDConnect && !clientID.isEmpty
        let client = isProvider ? " --client-id \(ShellQuoting.quoted(clientID))" : ""
        let opening = kind == .password ? "--password-only" : "--\(kind.rawValue)"
        let keyService =
            keyServiceURL.isEmpty
            ? " --no-key-service \(opening)" : " --key-service \(ShellQuoting.quoted(keyServiceURL))"
        let insecure = usesInsecureHTTP ? "--insecure-http " : ""
        return "vault register \(signIn)\(insecure)--issuer \(ShellQuoting.quoted(issuer))\(client)\(keyService)"
    }
}
