#if TPM2
    internal import Foundation
    internal import VaultBiometric

    /// The device file of a TPM. It is checked before the library opens it, as the library does not name the problem.
    struct TPMDevice {
        let path: String

        init(path: String) { self.path = path }

        /// - Parameter tcti: the way to the TPM. The result is nil unless it names a device.
        init?(_ tcti: String) {
            let parts = tcti.split(separator: ":", maxSplits: 1)
            guard parts.first == "device" else { return nil }
            path = parts.count == 2 ? String(parts[1]) : "/dev/tpmrm0"
        }

        func checkUsable() throws(BiometricError) {
            if access(path, R_OK | W_OK) != 0 { throw problem(errno) }
        }

        /// Returns the error for a value of `errno`, with the next step.
        func problem(_ number: Int32) -> BiometricError {
            switch number {
            case EACCES, EPERM, EROFS:
                BiometricError(
                    .notPermitted,
                    "This user may not use the TPM at \(path). Join its group, on most systems `tss`, then log in to "
                        + "the system again.")
            default:
                BiometricError(
                    .hardwareMissing,
                    "There is no TPM 2.0 at \(path). Turn it on in the firmware settings. Its name there may be "
                        + "fTPM, PTT or security device.")
            }
        }
    }
#endif
