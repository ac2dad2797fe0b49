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

    /// Whether it is certainly good for another `duration`. A token that does not say when it ends never is.
    public func isValid(for duration: Duration, at now: Date) -> Bool {
        guard let expiresAt else { return false }
        return expiresAt.timeIntervalSince(now) > Double(duration.components.seconds)
    }

    public var description: String { "AccessToken(expires: \(expiresAt.map { "\($0)" } ?? "unknown"))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["expiresAt": expiresAt as Any]) }
}

/// A refresh token together with whom it belongs to, ready to be stored.
public struct RefreshToken: Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The token itself: an opaque string.
    public let value: String
    /// Whose it is, from the verified ID token.
    public let account: AccountID
    /// The client it was issued to.
    public let clientID: String
    /// What it was granted for, or nil when the provider did not say.
    public let scope: String?
    /// `email`, `preferred_username` and `name` of the ID token.
    public let identity: Identity
    /// The access token that came with it, if it did.
    public let accessToken: AccessToken?

    /// What the ID token says of the person.
    public struct Identity: Sendable, Hashable {
        public let email: String?
        public let preferredUsername: String?
        public let name: String?
        /// All verified claims, as the JSON that was signed.
        public let claimsJSON: [UInt8]

        public init(email: String?, preferredUsername: String?, name: String?, claimsJSON: [UInt8]) {
            self.email = email
            self.preferredUsername = preferredUsername
            self.name = name
            self.claimsJSON = claimsJSON
        }
    }

    public init(
        value: String, account: AccountID, clientID: String, scope: String?, identity: Identity,
        accessToken: AccessToken?
    ) {
        self.value = value
        self.account = account
        self.clientID = clientID
        self.scope = scope
        self.identity = identity
        self.accessToken = accessToken
    }

    public var description: String { "RefreshToken(\(account))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["account": account]) }
}
