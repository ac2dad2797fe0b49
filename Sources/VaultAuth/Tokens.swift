public import Foundation
public import VaultStorage

/// An access token, as the provider's token endpoint answered it (RFC 6749 section 5.1).
public struct AccessToken: Sendable, Codable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The token itself: an opaque string for `Authorization: Bearer`.
    public let value: String
    /// `token_type`, usually `Bearer`.
    public let tokenType: String
    /// When it ends, or nil when the provider did not say.
    public let expiresAt: Date?
    /// What it was granted for, or nil when the provider did not say.
    public let scope: String?
    /// When it was received.
    public let obtainedAt: Date

    public init(value: String, tokenType: String, expiresAt: Date?, scope: String?, obtainedAt: Date) {
        self.value = value
        self.tokenType = tokenType
        self.expiresAt = expiresAt
        self.scope = scope
        self.obtainedAt = obtainedAt
    }

    /// Whether requests with it need a proof of possession (RFC 9449).
    package var isBound: Bool { tokenType.lowercased() == "dpop" }

    /// For how long a token counts as good that does not say when it ends, in seconds from when it was received.
    static let trust: TimeInterval = 300

    /// Whether it is good for another `duration`.
    ///
    /// A token that does not say when it ends counts as good for five minutes. Of one that never lasts longer than a minute
    /// half of its life is enough: otherwise every use would ask for another one.
    public func isValid(for duration: Duration, at now: Date) -> Bool {
        let end = expiresAt ?? obtainedAt.addingTimeInterval(Self.trust)
        let left = Self.duration(end.timeIntervalSince(now))
        if left > duration { return true }
        let life = Self.duration(end.timeIntervalSince(obtainedAt))
        return life <= .seconds(60) && left > life / 2
    }

    /// Between two clocks that may show anything, within 30,000 years.
    private static func duration(_ seconds: TimeInterval) -> Duration { .seconds(min(max(seconds, -1e12), 1e12)) }

    public var description: String { "AccessToken(expires: \(expiresAt.map { "\($0)" } ?? "unknown"))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["expiresAt": expiresAt as Any]) }
}

/// What a login gives, ready to be stored: a refresh token, or what serves as one, together with whom it belongs to.
public struct RefreshToken: Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// What is exchanged for access tokens later.
    public internal(set) var credential: Credential
    /// Whose it is: from the verified ID token, or what the backend calls the person.
    public let account: AccountID
    /// How the person signed in.
    public let method: SignInMethod
    /// The client it was issued to; empty where the method has none.
    public let clientID: String
    /// What is known of the person.
    public let identity: Identity
    /// The access token that came with it, if it did.
    public internal(set) var accessToken: AccessToken?
    /// The ID token as it was signed, if there is one: a hint for logging out at the provider.
    public internal(set) var idToken: String?
    /// What the backend's paths and fields are called; nil where the method has no layout.
    package var layout: StoredLayout?

    /// What the ID token, or the backend, says of the person.
    public struct Identity: Sendable, Hashable {
        public let email: String?
        public let preferredUsername: String?
        public let name: String?
        /// All verified claims, as the JSON that was signed; with a backend, what it answered of the person.
        public let claimsJSON: [UInt8]

        public init(email: String?, preferredUsername: String?, name: String?, claimsJSON: [UInt8]) {
            self.email = email
            self.preferredUsername = preferredUsername
            self.name = name
            self.claimsJSON = claimsJSON
        }
    }

    public init(
        _ credential: Credential, account: AccountID, method: SignInMethod = .openIDConnect, clientID: String,
        identity: Identity, accessToken: AccessToken?, idToken: String? = nil
    ) {
        self.credential = credential
        self.account = account
        self.method = method
        self.clientID = clientID
        self.identity = identity
        self.accessToken = accessToken
        self.idToken = idToken
    }

    /// The token itself: an opaque string.
    public var value: String { credential.value }
    /// What it was granted for, or nil when that was not said.
    public var scope: String? { credential.scope }

    public var description: String { "RefreshToken(\(account))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["account": account]) }
}
