internal import CredentialVault

extension SignInChoice {
    static let backend = SignInChoice(
        name: "backend", help: "In the browser, at a backend that talks to the provider itself.",
        backendKind: .browser, takesRedirect: true
    ) { signingIn, status in
        try await signingIn.inBrowser(status) { BackendSignIn(using: $0, redirect: $1) }
    }
}
