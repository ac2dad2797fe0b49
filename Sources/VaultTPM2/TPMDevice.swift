#if TPM2
    internal import Foundation
    internal import VaultBiometric

    /// The device file of a TPM, looked at before the library opens it, as the library does not tell what is wrong with it.
    struct TPMDevice {
        let path: String

        init(path: String) { self.path = path }

        /// - Parameter tcti: nil is returned when it does not name a device.
        init?(_ tcti: String) {
            let parts = tcti.split(separator: ":", maxSplits: 1)
            guard parts.first == "device" else { return nil }
            path = parts.count == 2 ? String(parts[1]) : "/dev/tpmrm0"
        }

        func checkUsable() throws(BiometricError) {
            if access(path, R_OK | W_OK) != 0 { throw problem(errno) }
        }

        /// What to do about an error, as in `errno`.
        func problem(_ number: Int32) -> BiometricError {
            switch number {
            case EACCES, EPERM, EROFS:
                BiometricError(
                    .unavailable,
                    "This user may not use the TPM at \(path). Members of its group may, on most systems `tss`: "
                        + "`sudo usermod --append --groups tss USER`, then sign in to the system anew.")
            default:
                BiometricError(
                    .hardwareMissing,
                    "There is no TPM 2.0 at \(path). It may be turned off in the firmware settings, where it is also "
                        + "called fTPM, PTT or security device.")
            }
        }
    }
#endif
