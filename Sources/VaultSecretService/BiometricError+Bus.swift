internal import Foundation
internal import VaultBiometric
internal import VaultDBus

extension BiometricError {
    static let keyringLocked = BiometricError(
        .lockedOut, "The desktop keyring is locked. Unlock it, or use another unlock method.")
    static let keyringSecretMissing = BiometricError(
        .hardwareMissing, "The desktop keyring does not have the secret of this unlock method.")

    /// Returns the error for a person, of a call to the Secret Service.
    static func of(_ error: BusError) -> BiometricError {
        if error.number == BusError.libraryMissing.number {
            return BiometricError(.unavailable, "The library \(LibSystemd.fileName) is missing. Install it.")
        }
        if error.name == "org.freedesktop.Secret.Error.IsLocked" { return keyringLocked }
        if error.isOfMissingService {
            return BiometricError(
                .hardwareMissing,
                "There is no desktop keyring here, because no program offers the Secret Service. Use another unlock "
                    + "method.", underlying: error)
        }
        if error.number == ETIMEDOUT {
            return BiometricError(.timedOut, "The desktop keyring does not answer. Try again.", underlying: error)
        }
        let reason = error.name ?? "error \(error.number)"
        return BiometricError(.failed, "The desktop keyring refused (\(reason)). Try again.", underlying: error)
    }
}

extension BusError {
    /// Whether nobody has the name of the Secret Service, and the bus could start no service.
    fileprivate var isOfMissingService: Bool {
        guard let name else { return false }
        return name.hasPrefix("org.freedesktop.DBus.Error.Spawn.")
            || ["ServiceUnknown", "NameHasNoOwner"].contains { name == "org.freedesktop.DBus.Error." + $0 }
    }

    /// Whether the service ended during the call, or an object that it named is gone. A second call may succeed.
    var isOfRestart: Bool {
        if [ENOTCONN, ECONNRESET, EPIPE].contains(number) { return true }
        guard let name else { return false }
        // NoReply: the service ended without an answer. A late answer is Timeout.
        return [
            "DBus.Error.NoReply", "DBus.Error.UnknownObject", "Secret.Error.NoSession", "Secret.Error.NoSuchObject",
        ]
        .contains { name == "org.freedesktop." + $0 }
    }
}
