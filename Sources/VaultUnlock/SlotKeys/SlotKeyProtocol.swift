package import Foundation
package import KeyServiceClient
package import VaultCrypto
package import VaultStorage

/// How keyslots are made and opened with a key: ``ReleasedKeys`` (protocol version 1 of the key service), ``OPRFKeys``
/// (version 2) or ``LocalKeys`` (no key service). ``KeyServices`` chooses one.
///
/// A conformer must not repeat a guess by itself, and must not assume that the account is still stored: other programs
/// change it meanwhile.
package protocol SlotKeyProtocol: Sendable {
    /// The size of a typed secret after Argon2id, in bytes.
    var inputSize: Int { get }

    /// Makes a key and seals the vault key under it. Stores no keyslot.
    ///
    /// If the caller then cannot store the keyslot, its key must be ended: see `Accounts.discard`.
    ///
    /// - Throws: `KeyServiceError`, `VaultCryptoError`, ``VaultError`` or ``StoreError``.
    func make(_ draft: KeyslotDraft, for account: Account, vaultKey: VaultKey) async throws -> Keyslot

    /// Opens a keyslot with one guess. A guess that was cancelled, or that the key service did not answer, may count.
    ///
    /// - Parameters:
    ///   - input: a typed secret after Argon2id (``inputSize`` bytes), or the secret that hardware gave.
    ///   - spendsLastGuess: whether to send a guess that locks the key if its answer is lost, too.
    /// - Throws: `KeyServiceError`. ``VaultError`` with code `wrongSecret`, `lastGuess` or `busy`. ``StoreError`` with
    ///   code `corrupt` if the secret is right but the stored slot does not open: it was changed.
    func open(
        _ slot: Keyslot, of account: Account, input: SharedSecret, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot

    /// Ends a key. It opens nothing from then on. A key that has ended already is no error.
    ///
    /// - Throws: `KeyServiceError`.
    func end(_ key: RetiredKey) async throws

    // MARK: - From protocol version 2 on

    /// Sends the confirmations of earlier guesses that the key service does not have yet.
    func sendConfirmations(of account: Account) async

    /// Sends one confirmation.
    ///
    /// - Throws: `KeyServiceError`.
    func confirm(_ confirmation: KeyConfirmation) async throws

    /// Asks the key service whether the owner revoked a key. The question costs no guess.
    ///
    /// - Parameter needsProof: whether only an authenticated answer counts, where there can be one.
    func answer(about slot: Keyslot, of account: Account, needsProof: Bool) async -> RevocationAnswer

    /// Asks a question about guesses that were too young to judge, and notes that it was asked.
    ///
    /// - Parameter tell: tells the person of guesses that stayed open. It runs before the note.
    func ask(
        _ question: LaterQuestion, about slot: Keyslot, of account: Account,
        tell: @escaping @Sendable (_ stayedOpen: [Date]) async -> Void
    ) async
}

/// Keys whose guesses have no confirmation, and whose answers nothing authenticates: those of version 1, and those
/// without a key service. A later version must implement these requirements itself.
package protocol UnconfirmedKeys: SlotKeyProtocol {}

extension UnconfirmedKeys {
    package func sendConfirmations(of account: Account) async {}

    package func confirm(_ confirmation: KeyConfirmation) async throws {}

    package func answer(about slot: Keyslot, of account: Account, needsProof: Bool) async -> RevocationAnswer { .none }

    package func ask(
        _ question: LaterQuestion, about slot: Keyslot, of account: Account,
        tell: @escaping @Sendable (_ stayedOpen: [Date]) async -> Void
    ) async {}
}
