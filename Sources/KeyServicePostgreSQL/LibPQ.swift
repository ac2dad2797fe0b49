#if PostgreSQL
    internal import CPostgreSQL
    internal import KeyServiceCore
    internal import VaultBase

    extension LibPQ {
        private static let library = SharedLibrary(["libpq.so.5"], packages: ["libpq5"])

        /// Opens libpq.
        ///
        /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if it is not installed.
        static func open() throws(KeyServiceServerError) -> LibPQ {
            do throws(MissingLibrary) {
                return try library.functions(LibPQ_find)
            } catch {
                throw KeyServiceServerError(
                    .configurationInvalid, error.description, remedy: .install(packages: error.packages),
                    underlying: error)
            }
        }
    }
#endif
