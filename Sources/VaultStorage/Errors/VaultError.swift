public import FoundationEssentials
internal import KeyService
internal import VaultBiometric
internal import VaultCrypto
internal import VaultHTTP

/// Why the vault could not do what it was asked. The code tells what to do next; the text is for a person, and neither
/// holds a secret.
public struct VaultError: LocalizedError, Sendable, CustomStringConvertible {
    /// What happened. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        package init(name: String) { self.name = name }

        /// The password is wrong: ask again. See ``VaultError/guessesRemaining``.
        public static let wrongSecret = Code(name: "wrongSecret")
        /// Too many wrong guesses: the key is never handed out again. Register again.
        public static let keyLocked = Code(name: "keyLocked")
        /// The key service does not have the account's key: another service, or it was deleted. Register again.
        public static let keyMissing = Code(name: "keyMissing")
        /// The key service cannot be reached or is busy: try again later. A guess that it did not answer may count.
        public static let keyServiceUnavailable = Code(name: "keyServiceUnavailable")
        /// The identity provider cannot be reached or is busy: try again later.
        public static let identityProviderUnavailable = Code(name: "identityProviderUnavailable")
        /// The identity provider took the request and did not answer in time: try again later.
        public static let identityProviderTimedOut = Code(name: "identityProviderTimedOut")
        /// The connection to the identity provider broke before the whole answer was there: try again. What was asked
        /// may have been done.
        public static let identityProviderInterrupted = Code(name: "identityProviderInterrupted")
        /// What the identity provider answered makes no sense: something stands between, or it is none. Try again.
        public static let identityProviderAnswerInvalid = Code(name: "identityProviderAnswerInvalid")
        /// The identity provider no longer takes the refresh token: register again.
        public static let refreshTokenExpired = Code(name: "refreshTokenExpired")
        /// As `refreshTokenExpired`, but an earlier refresh was cut off, which is the likely reason: register again.
        public static let refreshInterrupted = Code(name: "refreshInterrupted")
        /// The person or the caller called it off, or said no at the provider. A guess that was on its way to the key
        /// service may count.
        public static let cancelled = Code(name: "cancelled")
        /// The provider was asked with `prompt=none`, and has to ask the person first: sign in again without it.
        public static let interactionRequired = Code(name: "interactionRequired")
        /// Nobody entered the code for the sign-in on another device in time: start again.
        public static let deviceCodeExpired = Code(name: "deviceCodeExpired")
        /// No account matches: see which there are, or register.
        public static let accountNotFound = Code(name: "accountNotFound")
        /// More than one account matches: see ``VaultError/accounts``.
        public static let accountAmbiguous = Code(name: "accountAmbiguous")
        /// The alias is a name of another account: choose another one. See ``VaultError/accounts``.
        public static let aliasTaken = Code(name: "aliasTaken")
        /// The account exists, and going on would lose what is stored in it: confirm, or use its password.
        public static let accountExists = Code(name: "accountExists")
        /// Nobody is logged in, or the session was locked: log in first.
        public static let notLoggedIn = Code(name: "notLoggedIn")
        /// The store cannot be read or written right now. Nothing was deleted.
        public static let storeUnreadable = Code(name: "storeUnreadable")
        /// The store is on a network file system, or on FUSE: move it to a local disk.
        public static let unsafeFileSystem = Code(name: "unsafeFileSystem")
        /// What is stored is damaged. Nothing was deleted.
        public static let storeCorrupt = Code(name: "storeCorrupt")
        /// Somebody else is working on the same account or store: try again.
        public static let busy = Code(name: "busy")
        /// Too many wrong passwords at a backend: wait for ``VaultError/retryAfter``.
        public static let tooManyAttempts = Code(name: "tooManyAttempts")
        /// There is not enough memory right now: close something, or try again.
        public static let outOfMemory = Code(name: "outOfMemory")
        /// The account has no such way in: add it first, or use another one.
        public static let notEnrolled = Code(name: "notEnrolled")
        /// It would be the last way into the account: add another one first.
        public static let lastWayIn = Code(name: "lastWayIn")
        /// It was online too long ago to be opened without the network: log in with the network.
        public static let offlineTooLong = Code(name: "offlineTooLong")
        /// The policy of the app or the machine does not allow it: the text says the rule.
        public static let forbiddenByPolicy = Code(name: "forbiddenByPolicy")
        /// The token, TPM or security key did not do it: the text says why. Try again, or use another way in.
        public static let hardwareFailed = Code(name: "hardwareFailed")
        /// It takes no PIN now: wait for ``VaultError/retryAfter``, unlock it with its own tools, or use another way in.
        public static let hardwareLocked = Code(name: "hardwareLocked")
        /// It is not there: plug it in.
        public static let hardwareMissing = Code(name: "hardwareMissing")
        /// Another one is in its place: plug in the one that was enrolled.
        public static let hardwareReplaced = Code(name: "hardwareReplaced")
        /// A token, or another answer of the provider, did not pass a check: the provider's operator has to look.
        public static let tokenInvalid = Code(name: "tokenInvalid")
        /// A setting is missing or wrong: the text says which.
        public static let configurationInvalid = Code(name: "configurationInvalid")
        /// The account has no such item: see which there are.
        public static let itemNotFound = Code(name: "itemNotFound")
        /// The item would be larger than 16 MiB: store it in parts.
        public static let itemTooLarge = Code(name: "itemTooLarge")
        /// The file is no backup, or a damaged one, or a newer version made it: use another copy.
        public static let backupInvalid = Code(name: "backupInvalid")
        /// The item is not in the form that it was asked for: another program, or an older version, wrote it.
        public static let itemUnexpected = Code(name: "itemUnexpected")
        /// The password cannot be used: choose another.
        public static let passwordUnusable = Code(name: "passwordUnusable")
    }

    /// The code that tells what happened, and so what to do next.
    public let code: Code
    /// One or two sentences for a person, with the next step.
    public let description: String
    /// The way into the account that failed (with `wrongSecret`, `keyLocked`, `keyMissing`, `hardwareFailed`,
    /// `hardwareLocked`, `hardwareMissing`, `hardwareReplaced`, `notEnrolled` and `offlineTooLong`); nil if that is not
    /// known.
    public let way: Keyslot.Kind?
    /// With `wrongSecret`: how many wrong guesses are left, when the key service told.
    public let guessesRemaining: Int?
    /// With `accountAmbiguous`: the accounts that match; with `aliasTaken`: the one that has the name.
    public let accounts: [AccountID]
    /// With `tooManyAttempts` and `hardwareLocked`: how long to wait, where that is known.
    public let retryAfter: Duration?
    /// The error that caused this one, for a log: `KeyServiceError`, `OpenIDConnectError` or ``StoreError``, for
    /// example.
    public let underlying: (any Error)?

    /// Makes an error, for tests and for seams of your own.
    ///
    /// - Parameters:
    ///   - code: what happened.
    ///   - description: one or two sentences for a person, with the next step and without anything secret.
    ///   - way: the way into the account that failed.
    ///   - guessesRemaining: with `wrongSecret`, the number of wrong guesses that are left.
    ///   - accounts: with `accountAmbiguous` and `aliasTaken`, the accounts that are meant.
    ///   - retryAfter: with `tooManyAttempts` and `hardwareLocked`, how long to wait.
    ///   - underlying: the error that caused this one.
    public init(
        _ code: Code, _ description: String, way: Keyslot.Kind? = nil, guessesRemaining: Int? = nil,
        accounts: [AccountID] = [], retryAfter: Duration? = nil, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.way = way
        self.description = description
        self.guessesRemaining = guessesRemaining
        self.accounts = accounts
        self.retryAfter = retryAfter
        self.underlying = underlying
    }

    /// Says in the vault's terms what an error of one of its parts means. An error it does not know stays as it is.
    public static func converting(_ error: any Error) -> any Error {
        switch error {
        case let error as any VaultErrorConvertible: error.vaultError
        case is CancellationError: VaultError(.cancelled, "Cancelled.")
        default: error
        }
    }

    /// As ``converting(_:)``, and names the way into the account that was tried.
    static func converting(_ error: any Error, way: Keyslot.Kind) -> any Error {
        guard let error = converting(error) as? VaultError else { return converting(error) }
        guard error.way == nil, error.isOfWay else { return error }
        return VaultError(
            error.code, error.description, way: way, guessesRemaining: error.guessesRemaining,
            accounts: error.accounts, retryAfter: error.retryAfter, underlying: error.underlying)
    }

    /// For `localizedDescription`: the same as ``description``.
    public var errorDescription: String? { description }
}
