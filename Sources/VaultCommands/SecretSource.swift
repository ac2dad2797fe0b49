internal import CredentialVault
internal import Foundation

/// The source of one password.
enum SecretSource {
    case terminal
    case file(String)
    case descriptor(Int32)
    /// A password that was read already.
    case held(SharedSecret)

    /// Reads the password now, if it is not typed. Its errors are then found before anything else is done.
    func readAhead() async throws -> SecretSource {
        if case .terminal = self { return self }
        return try await .held(SharedSecret(password("", NoTerminal())))
    }

    /// The password, from the terminal with `prompt`.
    ///
    /// - Parameter name: the word for it in errors.
    func password(
        _ prompt: String, _ terminal: any Terminal, called name: String = "password"
    ) async throws -> SecretBytes {
        switch self {
        case .terminal:
            return try await terminal.askSecret(prompt)
        case .held(let secret):
            return try secret.bytes.copy()
        case .file("-"):
            return try Self.read(name, STDIN_FILENO, from: "standard input")
        case .file(let path):
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
            guard descriptor >= 0 else {
                throw VaultError(.configurationInvalid, "The \(name) file \(path) cannot be opened.")
            }
            defer { close(descriptor) }
            return try Self.read(name, descriptor, from: path)
        case .descriptor(let descriptor):
            // An inherited descriptor is never close-on-exec. A descriptor that this program opened always is.
            let flags = fcntl(descriptor, F_GETFD)
            guard flags >= 0, flags & FD_CLOEXEC == 0 else {
                throw VaultError(.configurationInvalid, "The descriptor \(descriptor) is not open.")
            }
            return try Self.read(name, descriptor, from: "descriptor \(descriptor)")
        }
    }

    /// A new password that is good enough. A person types it twice, and again if it is not.
    func newPassword(
        _ prompt: String, names: [String], policy: VaultPolicy, _ terminal: any Terminal
    ) async throws -> SecretBytes {
        guard case .terminal = self else {
            let password = try await password(prompt, terminal)
            if let failure = policy.failure(ofNewPassword: password, names: names) { throw failure }
            return password
        }
        // At a terminal without end, so that a sign-in is not lost. A window may be a program.
        var attempts = 0
        while attempts < 5 || !terminal.mayAnswerByItself {
            attempts += 1
            let password = try await terminal.askSecret(
                "\(prompt) (at least \(policy.passwordLength) characters): ")
            if let failure = policy.failure(ofNewPassword: password, names: names) {
                terminal.tell(failure.text)
                continue
            }
            terminal.tell(NewPasswordRule.strength(of: password, names: names).description)
            if try await terminal.askSecret("The same again: ").isEqual(to: password) { return password }
            terminal.tell("The two are not the same. Once more.")
        }
        throw VaultError(.passwordUnusable, "No password was chosen.")
    }

    private static func read(_ name: String, _ descriptor: Int32, from place: String) throws -> SecretBytes {
        guard let secret = try SecretReader.all(from: descriptor) else {
            throw VaultError(.passwordUnusable, "There is no \(name) in \(place).")
        }
        return try secret.take()
    }
}
