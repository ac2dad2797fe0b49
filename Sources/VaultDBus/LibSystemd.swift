internal import CSystemd
internal import VaultBase

/// The functions of libsystemd. A machine without the library only goes without the bus.
package final class LibSystemd: Sendable {
    package static let fileName = "libsystemd.so.0"

    /// The functions, under their own names.
    let bus: SDBus

    /// Opens the library. It stays in the process, and opening it again costs less than 0.1 ms.
    ///
    /// - Throws: ``BusError/libraryMissing`` if the file or one of its functions is missing.
    package init(_ fileName: String = LibSystemd.fileName) throws(BusError) {
        do throws(MissingLibrary) {
            bus = try SharedLibrary([fileName], packages: ["libsystemd0"]).functions(SDBus_find)
        } catch {
            throw BusError.libraryMissing
        }
    }
}
