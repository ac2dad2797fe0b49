public import CredentialVault
internal import Foundation
public import Observation

/// The state of a vault for a window: the people of this machine, who is logged in, and what to tell the person. A
/// window that reads its properties is drawn again when they change.
///
/// ```swift
/// let desk = ObservedVault(vault)
/// Task { await desk.follow() }
/// // when a person has chosen a name and typed a PIN:
/// if let session = await desk.login(person.id, with: .pin(consuming: pin)) { show(session) }
/// ```
@Observable
@MainActor
public final class ObservedVault {
    /// A person with an account on this machine.
    public struct Person: Sendable, Hashable, Identifiable {
        /// The account, with its unlock methods and its `unsealedMetadata`.
        public let account: Account
        /// Whether the password opens the account without the network.
        public let opensOffline: Bool

        /// The id of the account.
        public var id: AccountID { account.id }

        /// The name to show: the full name if `VaultConfiguration.displayClaims` has the claim `name`, otherwise the
        /// alias, the user name, the e-mail address or the subject. Two people can have the same name:
        /// `StorageProtocol.uniqueName(of:)` tells them apart.
        public var name: String { account.displayClaims["name"] ?? account.displayName }
    }

    /// The vault, for all other calls.
    public let vault: Vault
    /// The people of this machine, the oldest account first.
    public private(set) var people: [Person] = []
    /// The session of the person who is logged in; nil if nobody is. It may be a session that the provider refused: see
    /// `Session.refusal`.
    public private(set) var session: Session?
    /// Whether the session goes on without the provider.
    public private(set) var isOffline = false
    /// The last error of the vault, until the next login begins or the error is dismissed. The error about an outage of
    /// the provider also goes when ``follow()`` sees a renewed token. The `code`, `detail` and `value` let the app say
    /// the error in the person's language.
    public private(set) var error: VaultError?
    /// The last notice, for example about wrong guesses at a copy of the disk, until the next login begins or the
    /// notice is dismissed.
    public private(set) var notice: AccountNotice?
    /// The last error that the app passed to ``show(_:)`` and that is not from the vault, until the next login begins
    /// or the error is dismissed. The app can say it in the person's language. Nil if ``error`` has the last error.
    public private(set) var otherError: (any Error)?
    /// The account of the last login, if it failed.
    private var failed: AccountID?

    /// Makes the state of a vault. It is empty until ``follow()`` or ``reload()``.
    ///
    /// - Parameter vault: the vault.
    public init(_ vault: Vault) { self.vault = vault }

    /// The person who is logged in; nil if nobody is.
    public var current: Person? { people.first { $0.id == session?.id } }

    /// The text of the last error, or of ``notice`` if there is no error; nil if there is nothing to tell. The vault's
    /// texts are English.
    public var message: String? { error?.description ?? otherError?.localizedDescription ?? notice?.description }

    /// The number of guesses that are left after a wrong secret; nil if the last login did not fail so.
    public var guessesRemaining: Int? { error?.guessesRemaining }

    /// Whether the last login failed only because the key service did not answer, and the password opens this account
    /// without it. Then ask the person for the password.
    public var passwordOpensOffline: Bool {
        error?.code == .keyServiceUnavailable && people.contains { $0.id == failed && $0.opensOffline }
    }

    // MARK: - Changes

    /// Follows the vault until the task is cancelled. Call it once, in a task that lasts as long as the window.
    public func follow() async {
        let updates = vault.auth.sessionUpdates(replaying: true)
        await reload()
        for await update in updates {
            if let error = update.error { show(error) }
            if let notice = update.notice { self.notice = notice }
            if update.event == .refreshed, error?.isProviderOutage == true { error = nil }
            await reload()
        }
    }

    /// Reads the people and the session again. Other programs register and delete accounts without an event, so call it
    /// when the window comes to the front.
    public func reload() async {
        showSession()
        do {
            let accounts = try await vault.storage.all()
            let allowsOffline = vault.storage.policy.allows(.offline)
            people = accounts.map {
                let offline = $0.keyslot($0.hasKeyService ? .offline : .password)
                return Person(account: $0, opensOffline: allowsOffline && offline != nil)
            }
        } catch {
            show(error)
        }
    }

    /// Logs a person in. An error goes to ``error``.
    ///
    /// It dismisses the earlier messages, and afterwards updates ``session`` and ``isOffline`` by itself. All later
    /// changes, the notices and ``people`` need ``follow()`` or ``reload()``. So does ``current``, which finds the
    /// person in ``people``.
    ///
    /// - Parameters:
    ///   - account: the id of the account.
    ///   - method: the secret or hardware that opens the account.
    /// - Returns: the session that this login opened, also if only the provider failed: see ``VaultError/openedSession``.
    ///   Nil if it opened none. Then the earlier person is still logged in.
    @discardableResult
    public func login(_ account: AccountID, with method: UnlockMethod) async -> Session? {
        dismissMessage()
        failed = nil
        defer { showSession() }
        do {
            return try await vault.auth.login(account, with: method)
        } catch {
            show(error)
            failed = account
            return self.error?.openedSession
        }
    }

    /// Shows the error of a call that the app made itself.
    ///
    /// - Parameter error: the error. One that is not from the vault becomes ``otherError``.
    public func show(_ error: any Error) {
        self.error = VaultError.converting(error) as? VaultError
        otherError = self.error == nil ? error : nil
    }

    /// Forgets the error and the notice, when the person has read them.
    public func dismissMessage() { (error, otherError, notice) = (nil, nil, nil) }

    private func showSession() {
        session = vault.auth.session
        isOffline = session?.isOffline ?? false
    }
}
