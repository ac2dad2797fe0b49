public import Foundation
internal import VaultBase
internal import VaultCrypto

/// The owner of an account, as OpenID Connect names it. A subject is unique only within its issuer.
public struct AccountID: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The issuer (`iss`): the provider's URL, exactly as the provider writes it.
    public let issuer: String
    /// The subject (`sub`): the provider's name for the person, often not readable.
    public let subject: String

    /// Makes the id of an account.
    ///
    /// - Parameters:
    ///   - issuer: the issuer (`iss`), exactly as the provider writes it.
    ///   - subject: the subject (`sub`).
    public init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }

    public var description: String { "\(subject) at \(issuer)" }

    /// The beginning of the names of an account's records. They are deleted with the account.
    public var recordPrefix: String {
        let digest = Checksum.of([Array(issuer.utf8), Array(subject.utf8)])
        return "account/" + Hexadecimal.text(digest) + "/"
    }

    /// Whether the account's server is on the local network and is called by plain `http`. The person allowed that when
    /// the account was registered. Anybody in that network can read the tokens.
    public var usesInsecureHTTP: Bool {
        (try? ServerEndpoint(issuer, allowsInsecureHTTP: true))?.isInsecure ?? false
    }
}

extension [Account] {
    /// Returns the accounts that a person means, of those that have a name. A person chose the alias on this machine. A
    /// server can send any subject, e-mail address and user name, also the alias of another server's account. Some
    /// servers use the user name as the subject.
    package func meant(by name: String) -> [Account] {
        let withAlias = filter { $0.alias == name }
        guard withAlias.isEmpty else { return withAlias }
        let withSubject = filter { $0.id.subject == name }
        return withSubject.isEmpty ? self : withSubject
    }
}

/// The data of one account that is stored in the clear. It is needed to find the account and to ask for its key.
public struct Account: Sendable, Hashable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The id of the account: issuer and subject.
    public let id: AccountID
    /// A name that the person chose for `--user`.
    public var alias: String?
    /// The e-mail address, as the provider or backend told it last.
    public var email: String?
    /// The `preferred_username`, as the provider or backend told it last.
    public var preferredUsername: String?
    /// How the account signs in.
    public var method: SignInMethod
    /// The client that registered the account. A refresh needs the same client. Empty if the method has no client.
    public var clientID: String
    /// The names of the paths and fields of its backend. Nil if the method has no layout, or if the account is older
    /// than stored layouts: then the program's settings apply.
    public var layout: StoredLayout?
    /// The base URL of the key service that holds the account's keys. Empty for none: see ``hasKeyService``.
    public var keyServiceURL: String
    /// 32 random bytes that go into every Argon2id of this account. The key service never gets them, so its database
    /// alone is not enough to test a password.
    public let deviceSecret: [UInt8]
    /// The time when the account was first registered.
    public let createdAt: Date
    /// The time when the provider last confirmed the account. The time without the network is counted from here.
    public var lastOnlineAt: Date?
    /// The granted scopes (RFC 6749 section 3.3), separated by spaces; nil if the provider did not say.
    public var grantedScope: String?
    /// The `token_type` of the last access token, usually `Bearer`; nil if there was none. With `DPoP`, each request
    /// needs a proof (RFC 9449 section 5).
    public var accessTokenType: String?
    /// The end of the stored access token; nil if none is stored, or if the provider did not say.
    public var accessTokenExpiresAt: Date?
    /// The time when the provider or backend itself said that the stored token has ended; nil if it did not, or if the
    /// account got a new token since then. No secret of the account helps: sign in and register again. A refusal that a
    /// proxy may have sent is not kept.
    public var refusedAt: Date?
    /// Claims of the ID token, as text, for a list of accounts that are not open: see
    /// `VaultConfiguration.displayClaims`. They are on the disk unsealed. Empty unless an app chose some.
    public var displayClaims: [String: String] = [:]
    /// What apps stored with `Session.setUnsealedMetadata(_:for:)`, to read it while the account is closed. It is on
    /// the disk in the clear, and anybody who can write the disk can change it. Nil if it is damaged.
    public var unsealedMetadata: [String: String]? = [:]
    /// The start of a refresh that is under way. If it is still set later, the refresh was interrupted.
    public var refreshStartedAt: Date?
    /// The keyslots, without staged ones.
    public var keyslots: [Keyslot]
    /// The damaged keyslots. They open nothing, and the other keyslots still work.
    public var damagedKeyslots: [DamagedKeyslot] = []

    /// Makes an account, for a store to fill in.
    ///
    /// - Parameters:
    ///   - id: the issuer and subject.
    ///   - alias: the name that the person chose.
    ///   - email: the e-mail address, as the provider or backend told it last.
    ///   - preferredUsername: the `preferred_username`, as the provider or backend told it last.
    ///   - method: how the account signs in.
    ///   - clientID: the client that registered the account; empty if the method has no clients.
    ///   - layout: the names of the paths and fields of its backend.
    ///   - keyServiceURL: the base URL of the key service that holds its keys; empty for none.
    ///   - deviceSecret: 32 random bytes.
    ///   - createdAt: when the account was registered first.
    ///   - lastOnlineAt: when the provider last confirmed the account.
    ///   - refreshStartedAt: when the refresh began that is under way; nil for none.
    ///   - keyslots: the keyslots, without staged ones.
    public init(
        id: AccountID, alias: String? = nil, email: String? = nil, preferredUsername: String? = nil,
        method: SignInMethod = .openIDConnect, clientID: String, layout: StoredLayout? = nil, keyServiceURL: String,
        deviceSecret: [UInt8], createdAt: Date, lastOnlineAt: Date? = nil, refreshStartedAt: Date? = nil,
        keyslots: [Keyslot] = []
    ) {
        self.id = id
        self.alias = alias
        self.email = email
        self.preferredUsername = preferredUsername
        self.method = method
        self.clientID = clientID
        self.layout = layout
        self.keyServiceURL = keyServiceURL
        self.deviceSecret = deviceSecret
        self.createdAt = createdAt
        self.lastOnlineAt = lastOnlineAt
        self.refreshStartedAt = refreshStartedAt
        self.keyslots = keyslots
    }

    /// The name of the account for people.
    public var displayName: String { alias ?? preferredUsername ?? email ?? id.subject }

    /// All names of the account, the usual one first.
    package var allNames: [String] { [displayName, id.subject, email, preferredUsername].compactMap(\.self) }

    /// The keyslot that a password opens.
    public var passwordKeyslot: Keyslot? { keyslot(.password) }

    /// The keyslot of a kind. If there are several, the first one.
    public func keyslot(_ kind: Keyslot.Kind) -> Keyslot? { keyslots.first { $0.kind == kind } }

    public var description: String { "Account(\(id))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

extension Account {
    /// Returns the ids of the keyslots of some kinds, including damaged ones.
    package func keyslotIDs(where isMeant: (Keyslot.Kind) -> Bool) -> [String] {
        keyslots.filter { isMeant($0.kind) }.map(\.id) + damagedKeyslots.filter { isMeant($0.kind) }.map(\.id)
    }

    /// Whether requests with the account's access tokens need a proof of possession (RFC 9449).
    package var hasBoundTokens: Bool { accessTokenType.map { AccessToken.isBound($0) } ?? false }

    /// Whether a key service counts the guesses at the account's unlock methods, and can end them. Without a key
    /// service, only the hardware, or the cost of Argon2id, slows down a thief who has the disk. Tell the person.
    public var hasKeyService: Bool { !keyServiceURL.isEmpty }

    /// Whether the account has an unlock method that needs no key service.
    public var opensOffline: Bool { keyslots.contains { !$0.needsKeyService } }

    /// Whether the account was opened without its key service on this machine, and has not been online since.
    public var wasOpenedOffline: Bool {
        guard hasKeyService else { return false }
        let last = keyslots.filter { !$0.needsKeyService }.compactMap(\.lastUsedAt).max()
        return last.map { $0 > lastOnlineAt ?? createdAt } ?? false
    }
}

/// The way an account signs in. It also decides how its tokens are renewed.
public struct SignInMethod: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The method as a word, as it is stored.
    public let rawValue: String
    /// Makes a method from its word. An app's own method needs an issuer for its accounts.
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// At an OpenID provider: in the browser, by device code, or by password grant. Also for tokens of the provider that
    /// the app sets itself.
    public static let openIDConnect = SignInMethod(rawValue: "openid-connect")
    /// With tokens that the app sets itself, at a server without discovery. The issuer is the URL of its token endpoint.
    public static let tokenEndpoint = SignInMethod(rawValue: "token-endpoint")
    /// In the browser, at a backend that hides the provider's protocol. The backend's access token is stored.
    public static let backend = SignInMethod(rawValue: "backend")
    /// With e-mail address and password, at a backend that issues refresh tokens.
    public static let passwordBackend = SignInMethod(rawValue: "password-backend")
    /// At a server whose OAuth was discovered.
    public static let serverOAuth = SignInMethod(rawValue: "server-oauth")
    /// At a server, with user name and password, in exchange for an API token. The API token is stored.
    public static let serverToken = SignInMethod(rawValue: "server-token")
}

/// The names of paths and fields at an account's backend, as they were stored with the account.
@nonexhaustive
public enum StoredLayout: Hashable, Sendable {
    /// The layout as JSON.
    case json([UInt8])
    /// The stored bytes were changed. Functions that need the layout must refuse to work.
    case damaged

    /// The bytes to write; nil for a damaged layout, which stays as it is.
    package var bytes: [UInt8]? {
        if case .json(let bytes) = self { bytes } else { nil }
    }

    package static func checksum(of bytes: [UInt8], _ id: AccountID) -> [UInt8] {
        Checksum.of([Array("layout".utf8), Array(id.issuer.utf8), Array(id.subject.utf8), bytes])
    }
}
