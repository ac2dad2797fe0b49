public import VaultCrypto
public import VaultStorage

/// Asks the person for user name and password at a server, and for the code of a second factor.
///
/// A conformer must show the server and the reason, and must not keep the input. It must not assume that it is called.
/// It must return when its task is cancelled.
public protocol CredentialPrompt: Sendable {
    /// - Throws: `CancellationError` if the person refuses. Any other error ends the sign-in with that error.
    func credentials(for request: CredentialRequest) async throws -> UserCredentials

    /// Asks for the code of a second factor, for example from an app or from a text message. The server has accepted
    /// the password. By default, it throws ``VaultError`` with code `configurationInvalid`.
    ///
    /// - Returns: the code, UTF-8. Blanks in it do not matter.
    /// - Throws: as ``credentials(for:)``.
    func code(for request: CodeRequest) async throws -> SharedSecret
}

extension CredentialPrompt {
    /// Throws ``VaultError`` with code `configurationInvalid`.
    public func code(for request: CodeRequest) async throws -> SharedSecret { throw CodeRequest.cannotBeAsked }
}

/// The facts that a person needs before typing the code of a second factor.
public struct CodeRequest: Sendable {
    /// The server's base URL.
    public let server: String
    /// The user name, or e-mail address, whose password the server has accepted.
    public let username: String
    /// The server's words, for example where it sent the code: at most 200 characters, without control characters. nil
    /// if there are none.
    public let message: String?

    /// Makes a request, for tests of a ``CredentialPrompt``.
    ///
    /// - Parameters:
    ///   - server: the base URL of the server.
    ///   - username: the user name, or e-mail address.
    ///   - message: the server's words.
    public init(server: String, username: String, message: String? = nil) {
        self.server = server
        self.username = username
        self.message = message
    }

    /// The error of a sign-in that needs a code, in a program that asks for none.
    static var cannotBeAsked: VaultError {
        VaultError(
            .configurationInvalid,
            "The server asks for the code of a second factor, but this program cannot ask for it.")
    }
}

/// The facts that a person needs before typing a password.
public struct CredentialRequest: Sendable, CustomStringConvertible {
    /// The reason for the password. New reasons may be added, so a `switch` over them needs a `default`.
    public struct Reason: Hashable, Sendable {
        /// The reason as a word, stable across versions.
        public let name: String

        /// The caller chose an API token.
        public static let chosen = Reason(name: "chosen")
        /// The server has no OAuth.
        public static let noOAuth = Reason(name: "noOAuth")
        /// The server does not say what it has. It may be an old one, or the address may be wrong.
        public static let noInformation = Reason(name: "noInformation")
        /// Signing in with OAuth failed. See ``CredentialRequest/failure``.
        public static let oauthFailed = Reason(name: "oauthFailed")
    }

    /// The server's base URL.
    public let server: String
    /// The reason why the password is needed.
    public let reason: Reason
    /// The error of OAuth, with `oauthFailed`.
    public let failure: VaultError?

    /// Makes a request, for tests of a ``CredentialPrompt``.
    ///
    /// - Parameters:
    ///   - server: the base URL of the server.
    ///   - reason: why the password is needed.
    ///   - failure: with `oauthFailed`, the error that ended the sign-in with OAuth.
    public init(server: String, reason: Reason, failure: VaultError? = nil) {
        self.server = server
        self.reason = reason
        self.failure = failure
    }

    /// One or two sentences for a person.
    public var description: String {
        let ask = "An API token for \(server) needs your user name and password."
        return switch reason {
        case .noOAuth: "This server has no OAuth. \(ask)"
        case .noInformation: "This server does not say what it has, so check the address. \(ask)"
        case .oauthFailed: "Signing in with OAuth did not work: \(failure?.description ?? "it failed.") \(ask)"
        default: ask
        }
    }
}

/// The credentials that a person typed. They do not print themselves.
public struct UserCredentials: Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The user name, as typed.
    public let username: String
    /// UTF-8.
    public let password: SharedSecret

    /// Makes the answer of a ``CredentialPrompt``.
    ///
    /// - Parameters:
    ///   - username: the user name, as typed.
    ///   - password: the password, UTF-8.
    public init(username: String, password: SharedSecret) {
        self.username = username
        self.password = password
    }

    public var description: String { "UserCredentials" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
