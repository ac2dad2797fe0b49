internal import CredentialVault

extension SignInChoice {
    static let browser = SignInChoice(
        name: "browser", help: "At an OpenID provider, in the browser.", takesRedirect: true, takesParameters: true
    ) { signingIn, status in
        let opensAtOnce = signingIn.options.redirect.opensBrowser
        return try await signingIn.inBrowser(status) {
            BrowserSignIn(using: $0, redirect: $1, opensAtOnce: opensAtOnce)
        }
    }
}
