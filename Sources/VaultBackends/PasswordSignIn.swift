internal import Foundation
internal import OpenIDConnect
public import VaultAuth
internal import VaultBase
public import VaultCrypto
public import VaultStorage

/// A sign-in with e-mail address and password at a backend that issues refresh tokens.
///
/// The issuer of the settings is the backend's base URL. Impossible credentials are not sent. After wrong passwords,
/// this machine also makes the person wait, even after a restart. If the backend wants the code of a second factor, too,
/// the person is asked for it.
public struct PasswordSignIn: SignIn {
    let email: String
    let password: SharedSecret
    let prompt: (any CredentialPrompt)?

    /// - Parameters:
    ///   - email: the person's e-mail address at the backend.
    ///   - password: the person's password at the backend, UTF-8.
    ///   - prompt: asks for the code of a second factor; nil: nobody can be asked.
    public init(
        email: String, password: borrowing SecretBytes, asking prompt: (any CredentialPrompt)? = nil
    ) throws {
        self.email = email
        self.password = SharedSecret(try password.copy())
        self.prompt = prompt
    }

    /// Signs in with e-mail address and password. `AuthProtocol.signIn(_:)` calls it, and gives each error below as a
    /// `VaultError`.
    ///
    /// - Returns: the login. It is not stored yet.
    /// - Throws: `VaultError`: `passwordUnusable`: nothing was sent, ask the person again. `wrongSecret`: ask the
    ///   person again; with the detail `codeWrong`, only for the code. `tooManyAttempts`: wait for
    ///   `VaultError.retryAfter`. `configurationInvalid`: correct the address or the layout of the backend, or nobody
    ///   can be asked for a code. `storeCorrupt`: the stored layout is damaged, register again. `OpenIDConnectError`:
    ///   `unavailable`, `timedOut`, `interrupted`: try again later. `refused`, `invalidAnswer`: check the layout of the
    ///   backend. Errors of the prompt.
    public func run(in context: SignInContext) async throws -> SignInResult {
        let backend = PasswordBackend(
            connection: try context.backendConnection(), layout: try context.backendLayout().password,
            clock: context.clock)
        let text = try PasswordInput.checked(
            username: email, password: password.bytes, minimumLength: backend.layout.minimumPasswordLength)
        let attempts = LoginAttempts(backend: backend.connection.endpoint.url, username: email, context: context)
        let (answer, sentAt) = try await attempts.charge { try await login(at: backend, password: text) }
        return try await backend.signedIn(answer, as: email, at: sentAt)
    }

    // MARK: - The requests

    /// - Returns: the answer with the tokens, and the time of its request.
    private func login(
        at backend: PasswordBackend, password: String
    ) async throws -> (answer: JSONValue, sentAt: Date) {
        let (connection, layout) = (backend.connection, backend.layout)
        let credentials = JSONValue([(layout.email, .string(email)), (layout.password, .string(password))])
        let now = backend.clock.now
        let (answer, asksForCode) = try await connection.post(
            layout.login, credentials: credentials, secrets: [password], refusals: [401], now: now,
            asksForMore: layout.secondFactor.isAsked)
        guard asksForCode else { return (answer, now) }
        let factor = layout.secondFactor
        // A text for the program says nothing to a person.
        let words = BackendConnection.words(in: answer, secrets: [password]).flatMap { $0 == factor.value ? nil : $0 }
        let code = try await code(.init(server: connection.endpoint.url, username: email, message: words))
        var request = factor.path.isEmpty ? credentials : .object([:])
        let ticket = answer.field(factor.ticket)
        if let ticket { request.set(ticket.value, at: ticket.name) }
        request.set(.string(code), at: factor.code)
        let later = backend.clock.now
        do {
            let (tokens, asksAgain) = try await connection.post(
                factor.path.isEmpty ? layout.login : factor.path, credentials: request,
                secrets: [password, code, ticket?.value.string], refusals: [401, 403], now: later,
                asksForMore: factor.isAsked)
            guard !asksAgain else { throw Self.wrongCode() }
            return (tokens, later)
        } catch let error as OpenIDConnectError where error.code == .wrongCredentials {
            throw Self.wrongCode(error)
        }
    }

    private func code(_ request: CodeRequest) async throws -> String {
        guard let prompt else { throw CodeRequest.cannotBeAsked }
        let typed = try await prompt.code(for: request)
        guard let code = typed.bytes.utf8String()?.filter({ !$0.isWhitespace }), !code.isEmpty else {
            throw Self.wrongCode()
        }
        return code
    }

    private static func wrongCode(_ error: (any Error)? = nil) -> VaultError {
        VaultError(.wrongSecret, "The code is wrong or has expired.", detail: .codeWrong, underlying: error)
    }
}
