internal import CredentialVault
internal import Foundation
internal import VaultBase

/// Asks for the user name and password at a backend or provider, and for the code of a second factor. Asks again if they
/// are wrong.
final class CredentialQuestion: CredentialPrompt {
    private let options: CredentialOptions
    private let terminal: any Terminal
    private let nameOfUsername: String
    private let codeSource: SecretSource
    /// Whether somebody typed a code.
    private let typedCode = Lock(false)
    /// The credentials that were typed, until the server refuses them.
    private let typed = Lock<UserCredentials?>(nil)
    private let asked = Lock(false)
    /// What was wrong with the last code.
    private let wrongCode = Lock<String?>(nil)

    /// Whether a user name and a password were given or typed already.
    var wasAsked: Bool { asked.withLock { $0 } }

    /// - Parameters:
    ///   - nameOfUsername: the server's word for a user name.
    ///   - code: the source of the code of a second factor.
    init(
        _ options: CredentialOptions, _ terminal: any Terminal, nameOfUsername: String, code: SecretSource = .terminal
    ) {
        self.options = options
        self.terminal = terminal
        self.nameOfUsername = nameOfUsername
        codeSource = code
    }

    /// Whether credentials are given, or can be asked for.
    var isPossible: Bool {
        terminal.asksForText
            || options.username != nil && (terminal.isInteractive || options.file != nil || options.descriptor != nil)
    }

    func requirePossible() throws {
        guard !isPossible else { return }
        throw VaultError(
            .configurationInvalid,
            "There is no terminal to ask for the user name and password. Use --username NAME with --login-password-file PATH (- for standard input) or --login-password-fd N."
        )
    }

    /// Whether somebody types the password, and can be asked again.
    private var isAsked: Bool { if case .terminal = options.source { true } else { false } }

    /// Whether somebody sees why the command waits.
    private var isWatched: Bool { (isAsked || typedCode.withLock { $0 }) && terminal.isInteractive }

    private func mayAskAgain(after error: VaultError) -> Bool {
        guard terminal.isInteractive else { return false }
        if error.detail == .codeWrong { return typedCode.withLock { $0 } }
        return isAsked && [.wrongSecret, .passwordUnusable].contains(error.code)
    }

    /// Signs in with a password, and asks again while it is wrong.
    ///
    /// - Parameter signIn: one attempt. It may ask by itself, through ``credentials(for:)``.
    func untilRight<R: Sendable>(_ signIn: () async throws -> R) async throws -> R {
        while true {
            do {
                return try await retrying(signIn)
            } catch let error as VaultError where mayAskAgain(after: error) {
                let text = "\(error.description) Once more:"
                // After a wrong code, the password is known to be right. The server has to ask for a code again first.
                if error.detail == .codeWrong {
                    wrongCode.withLock { $0 = text }
                } else {
                    typed.withLock { $0 = nil }
                    terminal.tell(text)
                }
            }
        }
    }

    func credentials(for request: CredentialRequest) async throws -> UserCredentials {
        if typed.withLock({ $0 == nil }) { Output.note(request.description) }
        return try await credentials(at: request.server)
    }

    func credentials(at server: String) async throws -> UserCredentials {
        if let typed = typed.withLock({ $0 }) { return typed }
        var username = options.username ?? ""
        while username.isEmpty {
            username = try await terminal.ask("\(nameOfUsername) at \(Printable.text(server)): ")
                .trimmingCharacters(in: .whitespaces)
        }
        let password = try await options.source.password(
            "Password of \(Printable.text(username)) at \(Printable.text(server)): ", terminal)
        let credentials = UserCredentials(username: username, password: SharedSecret(password))
        typed.withLock { $0 = credentials }
        asked.withLock { $0 = true }
        return credentials
    }

    func code(for request: CodeRequest) async throws -> SharedSecret {
        guard case .terminal = codeSource else {
            return SharedSecret(try await codeSource.password("", terminal, called: "code"))
        }
        let user = "\(Printable.text(request.username)) at \(Printable.text(request.server))"
        guard terminal.isInteractive else {
            throw VaultError(
                .configurationInvalid,
                "The server asks for a code, and there is no terminal to ask for it. Use --code-file PATH (- for standard input) or --code-fd N."
            )
        }
        // The lines below would go behind the text of the spinner.
        Spinner.stopAll()
        if let message = request.message { terminal.tell(Printable.text(message)) }
        let wrong = wrongCode.withLock { text in
            defer { text = nil }
            return text
        }
        if let wrong { terminal.tell(wrong) }
        typedCode.withLock { $0 = true }
        return SharedSecret(try await terminal.askSecret("Code for \(user): "))
    }

    /// Asks a new person for a user name and a password. A person who types the password types it twice.
    ///
    /// - Parameter layout: the layout with the rule for passwords.
    func newCredentials(at server: String, layout: BackendLayout.Password) async throws -> UserCredentials {
        while true {
            let credentials = try await credentials(at: server)
            do {
                try layout.check(credentials)
                guard isAsked else { return credentials }
                if try await terminal.askSecret("The same again: ").isEqual(to: credentials.password.bytes) {
                    return credentials
                }
                terminal.tell("The two are not the same. Once more.")
            } catch let error as VaultError where error.code == .passwordUnusable && isAsked {
                terminal.tell("\(error.sentences) Once more:")
            }
            typed.withLock { $0 = nil }
        }
    }

    /// Waits and tries again if the server wants a pause and a person can see why.
    private func retrying<R: Sendable>(_ signIn: () async throws -> R) async throws -> R {
        for _ in 1...3 {
            do {
                return try await signIn()
            } catch let error as VaultError where error.code == .tooManyAttempts && isWatched {
                guard let pause = error.retryAfter, pause <= .seconds(60) else { throw error }
                // Nobody needs to read of the second between two attempts.
                if pause > .seconds(1) { Output.note(error.description) }
                let end = ContinuousClock.now + pause
                Spinner.start { "Waiting. Time left: \((end - ContinuousClock.now).digits)" }
                defer { Spinner.stopAll() }
                try await Task.sleep(until: end, clock: .continuous)
            }
        }
        return try await signIn()
    }
}
