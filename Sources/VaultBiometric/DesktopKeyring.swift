public import VaultCrypto

/// The keyring of a desktop, which the login to the desktop opens: GNOME Keyring or KWallet.
///
/// A ``DesktopProvider`` keeps one random secret for each keyslot there. A conformer must not assume that the keyring
/// is open, or that it still has a secret: the person and other programs change it. It must not block the cooperative
/// thread pool, and must not wait longer than its own time limit. Only ``store(_:as:)`` and ``secrets(of:)`` may ask
/// the person to open the keyring, in a window of the desktop. It throws ``BiometricError``: `hardwareMissing` without
/// a keyring, `lockedOut` if the keyring stays locked, `timedOut`, `unavailable` or `failed`.
public protocol DesktopKeyring: Sendable {
    /// Checks, without a question to the person, whether a secret could be read now.
    ///
    /// - Parameter id: the id of the secret; nil to ask about storing a new one.
    func availability(of id: String?) async -> BiometricAvailability

    /// Stores a secret.
    ///
    /// - Parameters:
    ///   - secret: 32 bytes.
    ///   - id: an id that the keyring does not have yet.
    func store(_ secret: SharedSecret, as id: String) async throws

    /// Returns all secrets under an id: usually one. A keyring that was copied or merged may have several. Returns none
    /// if the id is gone.
    func secrets(of id: String) async throws -> [SharedSecret]

    /// Removes all secrets under an id, as far as the keyring is open. An id that is gone is no error.
    func remove(_ id: String) async throws
}
