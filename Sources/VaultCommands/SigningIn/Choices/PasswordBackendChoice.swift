internal import CredentialVault

extension SignInChoice {
    static let password = SignInChoice(
        name: "password", help: "At a backend, with e-mail address and password.", backendKind: .password,
        takesPassword: true
    ) { signingIn, _ in
        try await signingIn.withPassword("E-mail address") {
            try PasswordSignIn(email: $0.username, password: $0.password.bytes)
        }
    }
}
