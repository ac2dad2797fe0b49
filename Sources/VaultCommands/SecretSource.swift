internal import ArgumentParser
internal import CredentialVault
internal import Foundation

/// The source of the password: the terminal, a file or a descriptor. Never an argument or the environment.
struct PasswordOptions: ParsableArguments {
    @Option(
        name: .customLong("password-file"),
        help: ArgumentHelp("Read the password from a file (- for standard input) and ask nothing.", valueName: "path"),
        completion: .file())
    var file: String?

    @Option(
        name: .customLong("password-fd"),
        help: ArgumentHelp("Read the password from an open file descriptor and ask nothing.", valueName: "number"))
    var descriptor: Int32?

    func validate() throws {
        if file != nil && descriptor != nil {
            throw ValidationError("--password-file and --password-fd exclude each other.")
        }
    }

    /// Whether an option gives the password. Then nothing may be asked.
    var isGiven: Bool { file != nil || descriptor != nil }

    var source: SecretSource {
        if let file { return .file(file) }
        if let descriptor { return .descriptor(descriptor) }
        return .terminal
    }
}

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
        _ prompt: String, of secret: SecretObjection.Secret = .password, names: [String], policy: VaultPolicy,
        _ terminal: any Terminal
    ) async throws -> SecretBytes {
        guard case .terminal = self else {
            let password = try await password(prompt, terminal, called: secret.name)
            if let failure = policy.failure(ofNewPassword: password, of: secret, names: names) { throw failure }
            return password
        }
        // At a terminal without end, so that a sign-in is not lost. A window may be a program.
        var attempts = 0
        while attempts < 5 || !terminal.mayAnswerByItself {
            attempts += 1
            let password = try await terminal.askSecret(
                "\(prompt) (at least \(policy.passwordLength) characters): ")
            if let failure = policy.failure(ofNewPassword: password, of: secret, names: names) {
                terminal.tell(failure.text)
                continue
            }
            let strength = NewPasswordRule.strength(of: password, names: names).description
            terminal.tell(strength.replacing("password", with: secret.name))
            if try await terminal.askSecret("The same again: ").isEqual(to: password) { return password }
            terminal.tell("The two are not the same. Once more.")
        }
        throw VaultError(.passwordUnusable, "No \(secret.name) was chosen.")
    }

    private static func read(_ name: String, _ descriptor: Int32, from place: String) throws -> SecretBytes {
        guard let secret = try SecretReader.all(from: descriptor) else {
            throw VaultError(.passwordUnusable, "There is no \(name) in \(place).")
        }
        return try secret.take()
    }
}

/// Reads secrets from a descriptor straight into guarded memory.
enum SecretReader {
    /// The longest password that is read, in bytes.
    static let limit = 4096

    /// Thrown when the person typed the byte that stops the program.
    struct Suspended: Error {}

    /// Reads a line without its newline; nil at the end of input.
    ///
    /// - Parameter suspension: a byte that ends the line with ``Suspended``; nil for none.
    static func line(from descriptor: Int32, suspension: UInt8? = nil) throws -> SecretBox? {
        try read(descriptor, untilNewline: true, suspension: suspension)
    }

    /// Reads all input. One newline at the end is not part of a password in a file.
    static func all(from descriptor: Int32) throws -> SecretBox? {
        try read(descriptor, untilNewline: false)
    }

    private static func read(
        _ descriptor: Int32, untilNewline: Bool, suspension: UInt8? = nil
    ) throws -> SecretBox? {
        var count = 0
        var isEnd = false
        let buffer = try SecretBytes(count: limit + 2) { buffer in
            while count < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                // A line is read byte by byte, because the next line may be for another program.
                let got = Foundation.read(descriptor, rest.baseAddress, untilNewline ? 1 : rest.count)
                if got < 0 && errno == EINTR { continue }
                guard got >= 0 else { throw VaultError(.configurationInvalid, "The password cannot be read.") }
                if got == 0 {
                    isEnd = true
                    break
                }
                count += got
                if let suspension, buffer[count - 1] == suspension { throw Suspended() }
                if untilNewline && buffer[count - 1] == UInt8(ascii: "\n") { break }
            }
            if isEnd && count == 0 { return }
            if count > 0 && buffer[count - 1] == UInt8(ascii: "\n") {
                count -= 1
                if !untilNewline && count > 0 && buffer[count - 1] == UInt8(ascii: "\r") { count -= 1 }
            }
            guard count <= limit else {
                throw VaultError(.passwordUnusable, "The password is longer than \(limit) bytes.")
            }
        }
        if isEnd && count == 0 && untilNewline { return nil }
        let length = count
        return try buffer.withUnsafeBytes {
            try SecretBox(SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(length))))
        }
    }
}
