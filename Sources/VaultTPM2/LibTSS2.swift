#if TPM2
    internal import CTPM2
    internal import VaultBase
    internal import VaultBiometric

    extension LibTSS2 {
        private static let library = SharedLibrary(
            ["libtss2-esys.so.0", "libtss2-sys.so.1", "libtss2-mu.so.0", "libtss2-rc.so.0", "libtss2-tctildr.so.0"],
            packages: ["libtss2-esys-3.0.2-0", "libtss2-rc0", "libtss2-tctildr0"])

        /// Opens the libraries of tpm2-tss.
        ///
        /// - Throws: ``BiometricError`` with code `unavailable` if one is not installed.
        static func open() throws(BiometricError) -> LibTSS2 {
            do throws(MissingLibrary) {
                return try library.functions(LibTSS2_find)
            } catch {
                throw BiometricError(error)
            }
        }
    }
#endif
