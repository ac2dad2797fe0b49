internal import CredentialVault

extension SignInChoice {
    static let server = SignInChoice(
        name: "server",
        help: "At a server that lists its ways: in the browser, else with user name and password.",
        backendKind: .server, takesPassword: true, takesRedirect: true, run: atServer)

    @Sendable private static func atServer(_ signingIn: SigningIn, _ status: StatusChannel) async throws -> SignInResult
    {
        let question = CredentialQuestion(
            signingIn.options.credentials, signingIn.terminal, nameOfUsername: "User name")
        let prompt = question.isPossible ? question : nil
        do {
            return try await question.untilRight {
                try await signingIn.inBrowser(status) {
                    // A person who has already typed a password need not go to the browser again.
                    ServerSignIn(
                        using: $0, redirect: $1, asking: prompt, choosing: question.wasAsked ? .apiToken : .automatic)
                }
            }
        } catch let error as VaultError where error.code == .configurationInvalid && prompt == nil {
            throw VaultError(
                error.code,
                "\(error.description) To use an API token in place of OAuth, add --username NAME --login-password-file PATH.",
                underlying: error.underlying)
        }
    }
}
