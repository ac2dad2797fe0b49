internal import CredentialVault

extension SignInChoice {
    static let passwordGrant = SignInChoice(
        name: "password-grant", help: "At an OpenID provider that allows it, with user name and password.",
        takesPassword: true
    ) { signingIn, _ in
        try await signingIn.withPassword("User name") {
            try PasswordGrantSignIn(username: $0.username, password: $0.password.bytes)
        }
    }
}
