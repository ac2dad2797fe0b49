#if PKCS11
    internal import CPKCS11
    internal import VaultBase
    internal import VaultBiometric

    extension LibP11Kit {
        private static let library = SharedLibrary(["libp11-kit.so.0"], packages: ["libp11-kit0"])

        /// Opens p11-kit.
        ///
        /// - Throws: ``BiometricError`` with code `unavailable` if it is not installed.
        static func open() throws(BiometricError) -> LibP11Kit {
            do throws(MissingLibrary) {
                return try library.functions(LibP11Kit_find)
            } catch {
                throw BiometricError(error)
            }
        }
    }
#endif
