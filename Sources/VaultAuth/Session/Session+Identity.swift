public import Foundation
public import VaultStorage

// Information about an open account. It can be read without the network, and after the provider refused the account.
extension Session {
    /// Returns the person's identity from the last ID token or the backend.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was locked (log in again), `storeUnreadable`
    ///   (try again), or `storeCorrupt` (restore a backup).
    public func identity() async throws -> SignInResult.Identity {
        try requireOpen()
        return try await backend.identity()
    }

    /// Returns the granted scopes and the end of the access token, as far as these are known.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was locked (log in again), `accountNotFound`
    ///   (register), or `storeUnreadable` (try again).
    public func grant() async throws -> Grant {
        try requireOpen()
        return try await backend.grant()
    }

    /// As ``AuthProtocol/providerLogoutURL(redirectURI:state:)``, for this session.
    package func providerLogoutURL(redirectURI: String?, state: String?) async throws -> String {
        try requireOpen()
        return try await backend.providerLogoutURL(redirectURI: redirectURI, state: state)
    }
}

/// The rights that a provider granted to an account. For an account that is not open, and for a session:
/// ``Session/grant()``.
public struct Grant: Sendable, Hashable {
    /// The scopes; nil if the provider did not say, or if an earlier version of the program stored the tokens.
    public let scopes: [String]?
    /// The end of the stored access token; nil if none is stored, or if the end is not known.
    public let accessTokenExpiresAt: Date?

    /// - Parameter account: as it is stored now.
    public init(of account: Account) {
        scopes = account.grantedScope.map { $0.split(separator: " ").map(String.init) }
        accessTokenExpiresAt = account.accessTokenExpiresAt
    }
}
