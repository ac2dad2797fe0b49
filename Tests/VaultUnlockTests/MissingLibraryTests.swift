import Testing
import VaultBase
import VaultBiometric
import VaultStorage
import VaultUnlock

@Suite struct MissingLibraryTests {
    @Test func `when hardware's library is missing, then its packages are named`() throws {
        let library = SharedLibrary(["libnothing.so.0"], packages: ["nothing0", "nothing-data"])
        let missing = #expect(throws: MissingLibrary.self) {
            let _: Int = try library.functions { _, _ in nil }
        }
        let error = try BiometricError(#require(missing)).vaultError
        #expect(error.code == .configurationInvalid)
        #expect(error.detail == .libraryMissing)
        #expect(error.value == "nothing0 nothing-data")
        #expect(error.description == "The library libnothing.so.0 (Debian: nothing0, nothing-data) is missing.")
    }
}
