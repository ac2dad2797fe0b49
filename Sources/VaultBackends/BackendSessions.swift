public import Foundation
internal import OpenIDConnect
internal import VaultBase
public import VaultHTTP
public import VaultStorage

/// A session of a person at a backend: a device or a program that is signed in there.
public struct BackendSession: Sendable, Hashable, Identifiable {
    /// The identifier for ``BackendSessions/end(_:)``.
    public let id: String
    /// The name that the person knows; nil if the backend does not say.
    public let name: String?
    /// The time of the sign-in; nil if the backend does not say.
    public let createdAt: Date?
    /// The time of the last use; nil if the backend does not say.
    public let lastUsedAt: Date?
    /// Whether this is the session of the account that asks.
    public let isCurrent: Bool

    init?(_ json: JSONValue, _ fields: BackendLayout.Sessions) {
        guard let id = json[field: fields.id]?.identifier else { return nil }
        self.id = id
        name = json[field: fields.name]?.string
        createdAt = json[field: fields.createdAt]?.time
        lastUsedAt = json[field: fields.lastUsedAt]?.time
        isCurrent = json[field: fields.isCurrent]?.bool == true
    }
}

/// The active sessions of a person at a backend. The backend's layout must name the paths.
///
/// ```swift
/// let transport = try session.authorizedTransport(for: [account.id.issuer])
/// let sessions = try BackendSessions(of: account, transport: transport)
/// for other in try await sessions.list() where !other.isCurrent { try await sessions.end(other.id) }
/// ```
///
/// Every method throws ``VaultError``: `configurationInvalid` if the backend has no such call or refuses it,
/// `identityProviderUnavailable` to try again later, or the transport's error if nobody is logged in.
public struct BackendSessions: Sendable {
    private let connection: BackendConnection
    private let layout: BackendLayout.Sessions

    /// - Parameters:
    ///   - account: the account of the person. It must be logged in during each call.
    ///   - settings: the layout for an account without a stored one, from an earlier version.
    ///   - transport: adds the account's access token to each request.
    /// - Throws: ``VaultError``: `configurationInvalid` if the layout names no paths for sessions, `storeCorrupt` if
    ///   the account's layout is damaged.
    public init(
        of account: Account, settings: BackendLayout = BackendLayout(), transport: any HTTPTransport
    ) throws {
        let layout = try account.layout.map { try BackendLayout($0) } ?? settings
        guard let sessions = layout.sessions(of: account.method), !sessions.list.isEmpty else {
            throw VaultError(
                .configurationInvalid,
                "The layout of \(account.id.issuer) has no list of sessions. If the backend has one, add its path to "
                    + "the layout and register again.", detail: .sessionListMissing)
        }
        self.layout = sessions
        connection = BackendConnection(
            try ServerEndpoint(account.id.issuer, allowsInsecureHTTP: true), transport: transport)
    }

    /// Returns the sessions in the backend's order. Sessions without an identifier are left out.
    public func list() async throws -> [BackendSession] {
        try await converting {
            let answer = try await connection.get(layout.list)
            guard let items = answer[field: layout.items]?.array else {
                throw OpenIDConnectError(.invalidAnswer, "it has no list of sessions")
            }
            return items.compactMap { BackendSession($0, layout) }
        }
    }

    /// Ends a session: its tokens do not work any more. After the end of the current session, the person has to
    /// register again.
    ///
    /// - Parameter id: ``BackendSession/id``.
    public func end(_ id: String) async throws {
        guard layout.end.contains("{id}") else {
            throw VaultError(.configurationInvalid, "The backend's layout has no path for ending a session.")
        }
        // An empty identifier could end all sessions.
        guard !id.isEmpty, id != ".", id != ".." else {
            throw VaultError(
                .configurationInvalid, "This is not a session identifier. List the sessions.", detail: .sessionUnknown)
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
    /// Whether the backend is told about a logout on this machine. False for an unreadable layout.
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

/// Runs `body` and turns this target's errors into ``VaultError``.
func converting<R: Sendable>(_ body: () async throws -> R) async throws -> R {
    do {
        return try await body()
    } catch let error as OpenIDConnectError {
        // The transport's own error if nobody is logged in.
        throw error.underlying as? VaultError ?? VaultError.converting(error)
    } catch {
        throw VaultError.converting(error)
    }
}
