internal import KeyService
internal import OpenIDConnect
internal import VaultCrypto
internal import VaultHTTP
public import VaultStorage

/// Why the vault could not do what it was asked. The code tells what to do next; the text is for a person, and neither
/// holds a secret.
public struct VaultError: Error, Sendable, CustomStringConvertible {
    /// What happened. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        /// The password is wrong: ask again. See ``VaultError/guessesRemaining``.
        public static let wrongSecret = Code(name: "wrongSecret")
        /// Too many wrong guesses: the key is never handed out again. Register again.
        public static let keyLocked = Code(name: "keyLocked")
        /// The key service does not have the account's key: another service, or it was deleted. Register again.
        public static let keyMissing = Code(name: "keyMissing")
        /// The key service cannot be reached or is busy: try again later.
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
        /// The person or the caller called it off, or said no at the provider.
        public static let cancelled = Code(name: "cancelled")
        /// No account matches: see which there are, or register.
        public static let accountNotFound = Code(name: "accountNotFound")
        /// More than one account matches: see ``VaultError/accounts``.
        public static let accountAmbiguous = Code(name: "accountAmbiguous")
        /// The account exists, and going on would lose what is stored in it: confirm, or use its password.
        public static let accountExists = Code(name: "accountExists")
        /// Nobody is logged in, or the session was locked: log in first.
        public static let notLoggedIn = Code(name: "notLoggedIn")
        /// The store cannot be read or written right now. Nothing was deleted.
        public static let storeUnreadable = Code(name: "storeUnreadable")
        /// What is stored is damaged. Nothing was deleted.
        public static let storeCorrupt = Code(name: "storeCorrupt")
        /// Somebody else is working on the same account or store: try again.
        public static let busy = Code(name: "busy")
        /// Too many wrong passwords at a backend: wait for ``VaultError/retryAfter``.
        public static let tooManyAttempts = Code(name: "tooManyAttempts")
        /// There is not enough memory right now: close something, or try again.
        public static let outOfMemory = Code(name: "outOfMemory")
        /// A token, or another answer of the provider, did not pass a check: the provider's operator has to look.
        public static let tokenInvalid = Code(name: "tokenInvalid")
        /// A setting is missing or wrong: the text says which.
        public static let configurationInvalid = Code(name: "configurationInvalid")
        /// The password cannot be used: choose another.
        public static let passwordUnusable = Code(name: "passwordUnusable")
    }

    public let code: Code
    /// One or two sentences for a person, with the next step.
    public let description: String
    /// With `wrongSecret`: how many wrong guesses are left, when the key service told.
    public let guessesRemaining: Int?
    /// With `accountAmbiguous`: the accounts that match.
    public let accounts: [AccountID]
    /// With `tooManyAttempts`: how long to wait.
    public let retryAfter: Duration?
    public let underlying: (any Error)?

    public init(
        _ code: Code, _ description: String, guessesRemaining: Int? = nil, accounts: [AccountID] = [],
        retryAfter: Duration? = nil, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.description = description
        self.guessesRemaining = guessesRemaining
        self.accounts = accounts
        self.retryAfter = retryAfter
        self.underlying = underlying
    }

    /// Says in the vault's terms what an error of one of its parts means. An error it does not know stays as it is.
    public static func converting(_ error: any Error) -> any Error {
        switch error {
        case let error as KeyServiceError: VaultError(error)
        case let error as StoreError: VaultError(error)
        case let error as OpenIDConnectError: VaultError(error)
        case let error as VaultCryptoError: VaultError(error)
        case let error as LoopbackListenerError where error.code == .timedOut:
            VaultError(.cancelled, "The browser did not come back within five minutes. Start again.", underlying: error)
        case is CancellationError: VaultError(.cancelled, "Cancelled.")
        default: error
        }
    }

    private init(_ error: KeyServiceError) {
        let (code, text): (Code, String) =
            switch error.code {
            case .wrongSecret:
                switch error.guessesRemaining {
                case nil: (.wrongSecret, "Wrong password.")
                case 0: (.wrongSecret, "Wrong password. The key is locked now: registering again is the way back.")
                case 1: (.wrongSecret, "Wrong password. 1 guess is left.")
                case let left?: (.wrongSecret, "Wrong password. \(left) guesses are left.")
                }
            case .keyLocked:
                (.keyLocked, "The key is locked after too many wrong passwords. Registering again is the way back.")
            case .noSuchKey:
                (.keyMissing, "The key service does not have this account's key. Check its URL, or register again.")
            case .unavailable: (.keyServiceUnavailable, error.description + " Try again later.")
            default: (.configurationInvalid, error.description)
            }
        self.init(code, text, guessesRemaining: error.guessesRemaining, underlying: error)
    }

    private init(_ error: StoreError) {
        let code: Code =
            switch error.code {
            case .corrupt: .storeCorrupt
            case .busy: .busy
            case .unsafePermissions: .configurationInvalid
            case .noSuchAccount: .accountNotFound
            case .aliasTaken: .configurationInvalid
            default: .storeUnreadable
            }
        self.init(code, error.description, underlying: error)
    }

    private init(_ error: OpenIDConnectError) {
        let code: Code =
            switch error.code {
            case .unavailable: .identityProviderUnavailable
            case .timedOut: .identityProviderTimedOut
            case .interrupted: .identityProviderInterrupted
            case .invalidAnswer: .identityProviderAnswerInvalid
            case .denied, .cancelled: .cancelled
            case .invalidGrant: .refreshTokenExpired
            case .wrongCredentials: .wrongSecret
            case .configurationInvalid, .unsupported, .refused: .configurationInvalid
            default: .tokenInvalid
            }
        self.init(code, error.description, underlying: error)
    }

    private init(_ error: VaultCryptoError) {
        let code: Code =
            switch error.code {
            case .invalidPassword: .passwordUnusable
            case .outOfMemory: .outOfMemory
            default: .storeCorrupt
            }
        self.init(code, error.description, underlying: error)
    }
}
