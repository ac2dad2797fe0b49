internal import CredentialVault

extension SignInChoice {
    static let device = SignInChoice(
        name: "device", help: "At an OpenID provider, with a code that you enter on another device.",
        takesParameters: true
    ) { signingIn, status in
        let prompt = DevicePrompt(status: status, isQuiet: signingIn.isQuiet)
        return try await signingIn.vault.auth.signIn(DeviceSignIn { prompt.show($0) })
    }
}
