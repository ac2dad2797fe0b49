public import Foundation
public import VaultStorage

/// What a provider granted to an account. It is known without opening the account, and of a session: ``Session/grant()``.
public struct Grant: Sendable, Hashable {
    /// The scopes; nil when the provider did not say, or an earlier version of the program stored the tokens.
    public let scopes: [String]?
    /// When the stored access token ends; nil when none is stored, or the end is not known.
    public let accessTokenExpiresAt: Date?

    /// - Parameter account: as it is stored now.
    public init(of account: Account) {
        scopes = account.grantedScope.map { $0.split(separator: " ").map(String.init) }
        accessTokenExpiresAt = account.accessTokenExpiresAt
    }
}
