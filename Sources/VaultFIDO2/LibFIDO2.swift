#if FIDO2
    internal import CFIDO2
    internal import VaultBase
    internal import VaultBiometric

    extension LibFIDO2 {
        private static let library = SharedLibrary(["libfido2.so.1"], packages: ["libfido2-1"])

        /// Opens libfido2.
        ///
        /// - Throws: ``BiometricError`` with code `unavailable` if it is not installed.
        static func open() throws(BiometricError) -> LibFIDO2 {
            do throws(MissingLibrary) {
                return try library.functions(LibFIDO2_find)
            } catch {
                throw BiometricError(error)
            }
        }
    }
#endif
