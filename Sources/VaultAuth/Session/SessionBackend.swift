public import Foundation
public import OpenIDConnect
public import VaultBiometric
public import VaultCrypto
public import VaultStorage
public import VaultUnlock

/// The keys, tokens and data of one open account, wherever they are. A ``Session`` calls it: the vault's own sessions
/// have them in this process or in the agent. An app's tests can have a backend of their own.
///
/// ```swift
/// struct Badge: SessionBackend {
///     let id: AccountID
///
///     func accessToken(
///         isForced: Bool, minimumValidity: Duration, rejected: String?, requestedAt: Date
///     ) async throws -> (token: AccessToken, isNew: Bool) {
///         (AccessToken(value: "t", tokenType: "Bearer", expiresAt: nil, scope: nil, obtainedAt: requestedAt), true)
///     }
/// }
/// let session = Session(Badge(id: id))
/// ```
///
/// A conformer must not assume that calls come one at a time, except those of
/// ``accessToken(isForced:minimumValidity:rejected:requestedAt:)``, or that the session is still open when a call goes
/// on: ``end()`` can come at any moment. It must not keep the session alive. Every method that throws throws
/// ``VaultError``, and has then changed nothing, unless it says otherwise. The codes decide what becomes of the
/// session: `notLoggedIn`, `accountNotFound` and `deviceRevoked` of a token request end it, and `refreshTokenExpired`
/// and `refreshInterrupted` count as the provider's refusal.
///
/// Two requirements have no default. By default, there is no proof key and no token without a place in the store, calls
/// that tell the backend something do nothing, and every other call throws `configurationInvalid`.
public protocol SessionBackend: Sendable {
    /// The account of the session.
    var id: AccountID { get }

    /// Takes the session that uses this backend. It is called once, before every other call. A backend that wants to
    /// lock the session keeps a weak reference.
    func begin(_ session: Session)

    // MARK: Tokens

    /// Returns an access token that is good enough for the request. The session calls it only if the token that it has
    /// is not, and calls it once at a time.
    ///
    /// - Parameters:
    ///   - isForced: whether only a token will do that was issued after `requestedAt`.
    ///   - minimumValidity: the least time for which the token must be valid.
    ///   - rejected: the value of a token that a server refused. The answer must be another one.
    ///   - requestedAt: the time of the request.
    /// - Returns: the token, and whether the provider has just issued it.
    func accessToken(
        isForced: Bool, minimumValidity: Duration, rejected: String?, requestedAt: Date
    ) async throws -> (token: AccessToken, isNew: Bool)
    /// Returns the refresh token as it is stored now, also one that the provider refused. See
    /// ``Session/refreshToken()``.
    func refreshToken() async throws -> SignInResult
    /// Replaces the refresh token and the access token by an app's own: both, or neither.
    func setTokens(_ tokens: SignInResult) async throws
    /// Returns the key that the tokens are bound to (RFC 9449); nil if they are not bound.
    func proofKey() async throws -> DPoPKey?
    /// Whether this process holds a renewed token that could not be stored. See ``Session/holdsUnstoredToken``.
    var holdsUnstoredToken: Bool { get }
    /// Asks the provider to revoke the refresh token, and forgets the tokens. Returns nil if it did, otherwise the
    /// reason. A conformer whose session cannot go on after an error locks the session before it throws.
    func logOutEverywhere() async throws -> VaultError?
    /// Returns the address that ends the person's session at the provider. See
    /// ``AuthProtocol/providerLogoutURL(redirectURI:state:)``.
    func providerLogoutURL(redirectURI: String?, state: String?) async throws -> String

    // MARK: The account

    /// Returns the vault key. See ``Session/openVaultKey()``.
    func vaultKey() throws -> VaultKey
    /// Returns the person's identity. See ``Session/identity()``.
    func identity() async throws -> SignInResult.Identity
    /// Returns the granted scopes and the end of the access token. See ``Session/grant()``.
    func grant() async throws -> Grant
    /// Stores a text that is readable while the account is closed. See ``Session/setUnsealedMetadata(_:for:)``.
    func setUnsealedMetadata(_ value: String?, for key: String) async throws
    /// Returns the devices of the account's owner. See ``SessionDevices/list()``.
    func devices(_ token: AccessToken) async throws -> [AccountDevice]
    /// Names a device. See ``SessionDevices/rename(_:to:)``.
    func rename(_ device: AccountDevice, to name: String, _ token: AccessToken) async throws
    /// Ends all keys of a device. See ``SessionDevices/revoke(_:)``.
    func revoke(_ device: AccountDevice, _ token: AccessToken) async throws

    // MARK: The app's own items

    /// Returns the names of the app's own items, sorted.
    func itemNames() async throws -> [ItemName]
    /// Returns an item as it is stored now; nil if there is none. Its content throws `busy` if the item changes before
    /// all of it was read.
    func item(_ name: ItemName) async throws -> StoredItem?
    /// Stores an item durably, completely or not at all. Replaces the old content. A conformer must not store content
    /// that ends in a cancelled task: many sequences just end then, and the content is not complete.
    ///
    /// - Returns: false if the item is not as `expected`. Then nothing was changed.
    func setItem<Content: AsyncSequence & Sendable>(
        _ name: ItemName, from content: Content, if expected: ItemExpectation
    ) async throws -> Bool where Content.Element == [UInt8]
    /// Removes an item. Returns whether there was one.
    func removeItem(_ name: ItemName) async throws -> Bool

    // MARK: Unlock methods

    /// Opens the account again with a secret of its person. See ``Session/reauthenticate(with:)``.
    func reauthenticate(with method: UnlockMethod) async throws
    /// Gives the account a new password. See ``Session/setPassword(_:dropsOtherMethods:skipsNewPasswordRule:)``.
    func setPassword(
        _ new: borrowing SecretBytes, dropsOtherMethods: Bool, skipsNewPasswordRule: Bool
    ) async throws -> VaultKeyReplacement?
    /// Gives the account a PIN. See ``Session/setPIN(_:skipsPINRule:)``.
    func setPIN(_ pin: borrowing SecretBytes, skipsPINRule: Bool) async throws
    /// Makes a recovery code. See ``Session/addRecoveryCode(_:)``. The errors of `show` are passed on.
    func addRecoveryCode(_ show: @Sendable (SharedSecret) async throws -> Void) async throws
    /// Lets the password open the account without the network. See ``Session/addOffline(password:)``.
    func addOffline(password: borrowing SecretBytes) async throws
    /// Adds a hardware key. See
    /// ``Session/addHardware(_:prompt:opensOffline:label:allowsUnlimitedGuesses:skipsPINRule:)``.
    func addHardware(
        _ provider: any BiometricProvider, prompt: any BiometricPrompt, opensOffline: Bool, label: String?,
        allowsUnlimitedGuesses: Bool, skipsPINRule: Bool
    ) async throws
    /// Gives the account a new vault key. See ``Session/replaceVaultKey(keeping:)``.
    func replaceVaultKey(keeping method: UnlockMethod) async throws -> VaultKeyReplacement

    // MARK: The end

    /// Forgets the keys and tokens, without waiting. Called once, when the session is over for this process.
    func end()
    /// Locks the account for other programs, too, if they share it. Called after ``end()``, unless another login only
    /// took this session's place, or the program stops.
    func lockForAll() async
}

/// The state that a write expects.
public enum ItemExpectation: Sendable, Hashable {
    /// Any state.
    case any
    /// The item does not exist.
    case absent
    /// The item has not changed since this revision was read.
    case revision(ItemRevision)

    /// - Parameter revision: the revision that was read; nil if there was no item.
    public init(_ revision: ItemRevision?) { self = revision.map { .revision($0) } ?? .absent }

    /// Whether an item with this revision is as expected; nil for no item.
    public func accepts(_ revision: ItemRevision?) -> Bool { self == .any || self == ItemExpectation(revision) }
}
