public import Foundation
public import VaultStorage

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
