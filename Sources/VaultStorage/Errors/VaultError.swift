public import FoundationEssentials
public import VaultCrypto

/// The reason why the vault could not do something. The code tells the caller what to do next. The text is for a
/// person. Neither holds a secret.
public struct VaultError: LocalizedError, Sendable, CustomStringConvertible {
    /// What happened. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        package init(name: String) { self.name = name }

        /// The secret is wrong. Ask for it again: see ``VaultError/guessesRemaining``.
        public static let wrongSecret = Code(name: "wrongSecret")
        /// Too many wrong guesses locked the key. Use another unlock method. The key service's operator can unlock it
        /// without loss. Otherwise register again.
        public static let keyLocked = Code(name: "keyLocked")
        /// Answers of the key service were lost, and one more lost answer would lock the key. No new guess was
        /// sent. Try again in another network, use another unlock method, or ask the person and use
        /// `UnlockMethod.spendingLastGuess`.
        public static let lastGuess = Code(name: "lastGuess")
        /// The key service does not have the account's key. Check the URL of the key service. If it is right, use
        /// another unlock method or register again.
        public static let keyMissing = Code(name: "keyMissing")
        /// The account's owner, or the key service's operator, revoked this machine's key. Use another unlock method,
        /// or register again.
        public static let deviceRevoked = Code(name: "deviceRevoked")
        /// The list of devices has no such device. List the devices.
        public static let deviceNotFound = Code(name: "deviceNotFound")
        /// The key service cannot be reached or is busy. Try again later. It may have counted the guess.
        public static let keyServiceUnavailable = Code(name: "keyServiceUnavailable")
        /// The key service is not the known one, or somebody answers in its place. No key was made. Ask its operator
        /// for the identity key: see ``VaultPolicy/keyServiceKeys``.
        public static let keyServiceNotTrusted = Code(name: "keyServiceNotTrusted")
        /// The identity provider cannot be reached or is busy. Try again later.
        public static let identityProviderUnavailable = Code(name: "identityProviderUnavailable")
        /// The identity provider did not answer in time. Try again later.
        public static let identityProviderTimedOut = Code(name: "identityProviderTimedOut")
        /// The connection to the identity provider broke during the answer. Try again. The provider may have done what
        /// was asked.
        public static let identityProviderInterrupted = Code(name: "identityProviderInterrupted")
        /// The identity provider's answer is not valid. Check the URL and the network, then try again later.
        public static let identityProviderAnswerInvalid = Code(name: "identityProviderAnswerInvalid")
        /// The identity provider no longer accepts the refresh token. Register again.
        public static let refreshTokenExpired = Code(name: "refreshTokenExpired")
        /// The provider no longer accepts the refresh token, probably because an earlier refresh was cut off. Register
        /// again.
        public static let refreshInterrupted = Code(name: "refreshInterrupted")
        /// The person or the caller cancelled, or the person refused at the provider. The key service may have counted
        /// a guess that it already had.
        public static let cancelled = Code(name: "cancelled")
        /// The request had `prompt=none`, but the provider has to ask the person. Sign in again without `prompt=none`.
        public static let interactionRequired = Code(name: "interactionRequired")
        /// Nobody entered the code on the other device in time. Start the sign-in again.
        public static let deviceCodeExpired = Code(name: "deviceCodeExpired")
        /// No account matches. List the accounts, or register.
        public static let accountNotFound = Code(name: "accountNotFound")
        /// More than one account matches. Name one of ``VaultError/accounts``.
        public static let accountAmbiguous = Code(name: "accountAmbiguous")
        /// The alias is a name of another account: see ``VaultError/accounts``. Choose another alias.
        public static let aliasTaken = Code(name: "aliasTaken")
        /// The account exists, and going on would delete its items. Ask the person to confirm, or log in to it.
        public static let accountExists = Code(name: "accountExists")
        /// Nobody is logged in, or the session is locked. Log in first.
        public static let notLoggedIn = Code(name: "notLoggedIn")
        /// The store cannot be read or written now. Nothing was deleted. Do what the text says, then try again.
        public static let storeUnreadable = Code(name: "storeUnreadable")
        /// The store is on a network file system or on FUSE. Move it to a local disk.
        public static let unsafeFileSystem = Code(name: "unsafeFileSystem")
        /// The stored data is damaged. Nothing was deleted. Restore a backup, or register again.
        public static let storeCorrupt = Code(name: "storeCorrupt")
        /// Another task or program is working on the same account or store. Try again.
        public static let busy = Code(name: "busy")
        /// Too many wrong secrets. Wait for ``VaultError/retryAfter``.
        public static let tooManyAttempts = Code(name: "tooManyAttempts")
        /// There is not enough memory. Close other programs, then try again.
        public static let outOfMemory = Code(name: "outOfMemory")
        /// The account does not have this unlock method. Add it first, or use another unlock method.
        public static let notEnrolled = Code(name: "notEnrolled")
        /// This is the last unlock method of the account. Add another unlock method first.
        public static let lastUnlockMethod = Code(name: "lastUnlockMethod")
        /// The account was online too long ago to open without the network. Log in with the network.
        public static let offlineTooLong = Code(name: "offlineTooLong")
        /// The policy of the app or the machine does not allow this: see ``VaultError/policyObjection``.
        public static let forbiddenByPolicy = Code(name: "forbiddenByPolicy")
        /// The token, TPM or security key failed. The text says why. Try again, or use another unlock method.
        public static let hardwareFailed = Code(name: "hardwareFailed")
        /// The hardware accepts no PIN now. Wait for ``VaultError/retryAfter``, unlock it with its own tools, or use
        /// another unlock method.
        public static let hardwareLocked = Code(name: "hardwareLocked")
        /// The hardware is not there. Plug it in.
        public static let hardwareMissing = Code(name: "hardwareMissing")
        /// The hardware does not limit wrong PINs, so a thief who has it can try all PINs. Ask the person, then pass
        /// `allowsUnlimitedGuesses`, or use other hardware.
        public static let guessesUnlimited = Code(name: "guessesUnlimited")
        /// Another token, TPM or security key is in its place. Plug in the enrolled one.
        public static let hardwareReplaced = Code(name: "hardwareReplaced")
        /// A token or another answer of the provider did not pass a check. Tell the provider's operator.
        public static let tokenInvalid = Code(name: "tokenInvalid")
        /// A setting is missing or wrong. The text says which setting.
        public static let configurationInvalid = Code(name: "configurationInvalid")
        /// The account does not have this item. List its items.
        public static let itemNotFound = Code(name: "itemNotFound")
        /// The item would be larger than 16 MiB: store it in parts. Or an account's unsealed metadata would be larger
        /// than 4096 bytes: store it as an item.
        public static let itemTooLarge = Code(name: "itemTooLarge")
        /// The file is not a backup, is damaged, or is of a newer version. Use another copy, or update this program.
        public static let backupInvalid = Code(name: "backupInvalid")
        /// A new unlock method needs a secret of the account. Ask for one: see `Session.reauthenticate(with:)`.
        public static let secretRequired = Code(name: "secretRequired")
        /// The item has another form than the program asked for. Another program or an older version wrote it.
        public static let itemUnexpected = Code(name: "itemUnexpected")
        /// The password or PIN cannot be used: see ``VaultError/objection``. Choose another one.
        public static let passwordUnusable = Code(name: "passwordUnusable")
    }

    /// The code that tells what happened, and so what to do next.
    public let code: Code
    /// One or two sentences for a person, with the next step.
    public let description: String
    /// The exact situation, where the code stands for several; nil for the other errors.
    public let detail: Detail?
    /// What the ``detail`` is about, for example a path; nil if it is about nothing else. The detail says what it is.
    public let value: String?
    /// The unlock method of the account that failed; nil if it is not known. Set with `wrongSecret`, `keyLocked`,
    /// `keyMissing`, `hardwareFailed`, `hardwareLocked`, `hardwareMissing`, `hardwareReplaced`, `notEnrolled`,
    /// `offlineTooLong` and `cancelled`.
    public private(set) var unlockMethod: Keyslot.Kind?
    /// The number of guesses left, with `wrongSecret`; nil if the key service did not tell.
    public let guessesRemaining: Int?
    /// The accounts that match, with `accountAmbiguous`. The account that has the name, with `aliasTaken`.
    public let accounts: [AccountID]
    /// The time to wait, with `tooManyAttempts` and `hardwareLocked`; nil if it is not known.
    public let retryAfter: Duration?
    /// What is wrong with a new secret, with `passwordUnusable` and `forbiddenByPolicy`; nil if the error is about
    /// something else.
    public let objection: SecretObjection?
    /// The rule of the policy that forbids this, with `forbiddenByPolicy` and `offlineTooLong`; nil if no rule does.
    public let policyObjection: PolicyObjection?
    /// The error that caused this one, for a log: `KeyServiceError`, `OpenIDConnectError` or ``StoreError``, for
    /// example.
    public let underlying: (any Error)?
    /// The session that the failed call opened; nil if it opened none.
    package private(set) var opened: (any OpenedSession)?

    /// Makes an error, for tests and for seams of your own.
    ///
    /// - Parameters:
    ///   - code: what happened.
    ///   - description: one or two sentences for a person, with the next step and without anything secret.
    ///   - detail: the exact situation, if the code stands for several.
    ///   - value: what the detail is about.
    ///   - unlockMethod: the unlock method of the account that failed.
    ///   - guessesRemaining: with `wrongSecret`, the number of wrong guesses that are left.
    ///   - accounts: with `accountAmbiguous` and `aliasTaken`, the accounts that are meant.
    ///   - retryAfter: with `tooManyAttempts` and `hardwareLocked`, how long to wait.
    ///   - objection: with `passwordUnusable` and `forbiddenByPolicy`, what is wrong with the new secret.
    ///   - policyObjection: with `forbiddenByPolicy` and `offlineTooLong`, the rule that forbids it.
    ///   - underlying: the error that caused this one.
    public init(
        _ code: Code, _ description: String, detail: Detail? = nil, value: String? = nil,
        unlockMethod: Keyslot.Kind? = nil,
        guessesRemaining: Int? = nil, accounts: [AccountID] = [], retryAfter: Duration? = nil,
        objection: SecretObjection? = nil, policyObjection: PolicyObjection? = nil, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.detail = detail
        self.value = value
        self.unlockMethod = unlockMethod
        self.description = description
        self.guessesRemaining = guessesRemaining
        self.accounts = accounts
        self.retryAfter = retryAfter
        self.objection = objection
        self.policyObjection = policyObjection
        self.underlying = underlying
    }

    /// Turns an error of one of the vault's parts into a ``VaultError``. Returns any other error unchanged.
    public static func converting(_ error: any Error) -> any Error {
        switch error {
        case let error as any VaultErrorConvertible: error.vaultError
        case is CancellationError: VaultError(.cancelled, "Cancelled.")
        default: error
        }
    }

    /// Runs `body`, and converts its error.
    package static func converting<R>(_ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch { throw converting(error) }
    }

    /// As ``converting(_:)``, and adds the unlock method of the account that was tried.
    package static func converting(_ error: any Error, unlockMethod: Keyslot.Kind) -> any Error {
        guard var error = converting(error) as? VaultError else { return converting(error) }
        if error.unlockMethod == nil, error.isOfKeyslot { error.unlockMethod = unlockMethod }
        return error
    }

    /// The error of a new secret that cannot be used.
    package init(_ objection: SecretObjection) {
        self.init(.passwordUnusable, objection.description, objection: objection)
    }

    package init(tooShortForPolicy objection: SecretObjection) {
        self.init(
            .forbiddenByPolicy, objection.description, objection: objection,
            policyObjection: PolicyObjection(objection))
    }

    /// The error of something that a rule of the policy forbids.
    package init(_ objection: PolicyObjection) {
        self.init(.forbiddenByPolicy, objection.description, policyObjection: objection)
    }

    /// Returns the same error of a call that opened an account before it failed.
    package func opening(_ session: any OpenedSession) -> VaultError {
        var error = self
        error.opened = session
        return error
    }

    /// For `localizedDescription`: the same as ``description``.
    public var errorDescription: String? { description }
}

/// A session that an error can hand on to the caller.
///
/// A conformer must hold no secret after it was locked, because an app may keep the error for a long time.
package protocol OpenedSession: Sendable {
    var id: AccountID { get }
}
