public import Foundation
internal import OpenIDConnect
internal import VaultAuth
public import VaultHTTP
internal import VaultJSON
public import VaultStorage

/// A session of a person at a backend: a device or a program that is signed in there.
public struct BackendSession: Sendable, Hashable, Identifiable {
    /// What ``BackendSessions/end(_:)`` takes.
    public let id: String
    /// What the person knows it by; nil when the backend does not say.
    public let name: String?
    /// When the person signed in there; nil when the backend does not say.
    public let createdAt: Date?
    /// When it was used last; nil when the backend does not say.
    public let lastUsedAt: Date?
    /// Whether it is the session of the account that asks.
    public let isCurrent: Bool

    init?(_ json: JSONValue, _ fields: BackendLayout.Sessions) {
        guard let id = json[path: fields.id]?.identifier else { return nil }
        self.id = id
        name = json[path: fields.name]?.string
        createdAt = Self.time(json[path: fields.createdAt])
        lastUsedAt = Self.time(json[path: fields.lastUsedAt])
        isCurrent = json[path: fields.isCurrent]?.bool == true
    }

    private static func time(_ value: JSONValue?) -> Date? {
        guard let text = value?.string else { return Lifetime.time(value).map(Date.init(timeIntervalSince1970:)) }
        let style = Date.ISO8601FormatStyle()
        return (try? Date(text, strategy: style))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
}

/// The active sessions of a person at a backend, where the backend's layout names paths for them.
///
/// ```swift
/// let transport = try vault.auth.authorizedTransport(for: [account.id.issuer])
/// let sessions = try BackendSessions(of: account, transport: transport)
/// for session in try await sessions.list() where !session.isCurrent { try await sessions.end(session.id) }
/// ```
///
/// Every method throws ``VaultError``: `configurationInvalid` when the backend has no such call or refuses it, what the
/// transport throws when nobody is logged in, and `identityProviderUnavailable` to try again later.
public struct BackendSessions: Sendable {
    private let connection: BackendConnection
    private let layout: BackendLayout.Sessions

    /// - Parameters:
    ///   - account: whose sessions they are. It has to be logged in when a method is called.
    ///   - settings: the layout for an account without a stored one. An earlier version registered such an account.
    ///   - transport: adds the account's access token to each request.
    /// - Throws: ``VaultError``: `configurationInvalid` when the layout names no paths for sessions, `storeCorrupt` when
    ///   the account's layout is damaged.
    public init(
        of account: Account, settings: BackendLayout = BackendLayout(), transport: any HTTPTransport
    ) throws {
        let layout = try account.layout.map { try BackendLayout($0) } ?? settings
        guard let sessions = layout.sessions(of: account.method), !sessions.list.isEmpty else {
            throw VaultError(
                .configurationInvalid,
                "No list of sessions is known at \(account.id.issuer). If the backend has one, name its path in the backend file and register again: vault register"
            )
        }
        self.layout = sessions
        connection = BackendConnection(try ServerEndpoint(account.id.issuer), transport: transport)
    }

    /// The sessions as the backend lists them. One without an identifier is left out.
    public func list() async throws -> [BackendSession] {
        try await converting {
            let answer = try await connection.get(layout.list)
            guard let items = answer[path: layout.items]?.array else {
                throw OpenIDConnectError(.invalidAnswer, "it has no list of sessions")
            }
            return items.compactMap { BackendSession($0, layout) }
        }
    }

    /// Ends a session: its tokens do not work any more. After the current one is ended, the account has to be registered
    /// again.
    ///
    /// - Parameter id: ``BackendSession/id``.
    public func end(_ id: String) async throws {
        guard layout.end.contains("{id}") else {
            throw VaultError(.configurationInvalid, "The backend's layout names no path that ends a session.")
        }
        // An empty identifier could mean all of them.
        guard !id.isEmpty, id != ".", id != ".." else {
            throw VaultError(.configurationInvalid, "That is no identifier of a session. See: vault backend sessions")
        }
        try await converting {
            try await connection.delete(layout.end.replacing("{id}", with: FormParameters.escape(id)))
        }
    }
}

extension BackendLayout {
    func sessions(of method: SignInMethod) -> Sessions? {
        switch method {
        case .backend: browser.sessions
        case .passwordBackend: password.sessions
        case .serverOAuth, .serverToken: server.sessions
        default: nil
        }
    }
}

extension Account {
    /// Whether its backend is told when the person logs out on this machine. False for a layout that cannot be read.
    package var tellsLogout: Bool {
        guard let layout = try? layout.map({ try BackendLayout($0) }) else { return false }
        let path =
            switch method {
            case .backend: layout.browser.localLogout
            case .passwordBackend: layout.password.localLogout
            case .serverOAuth, .serverToken: layout.server.localLogout
            default: String?.none
            }
        return path?.isEmpty == false
    }
}

/// Runs what throws this target's errors, so that an app sees ``VaultError`` only.
func converting<R: Sendable>(_ body: () async throws -> R) async throws -> R {
    do {
        return try await body()
    } catch let error as OpenIDConnectError {
        // What the transport said when nobody is logged in.
        throw error.underlying as? VaultError ?? VaultError.converting(error)
    } catch {
        throw VaultError.converting(error)
    }
}
