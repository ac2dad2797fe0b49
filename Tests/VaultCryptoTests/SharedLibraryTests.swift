import Foundation
import Testing
import VaultBase

@Suite struct SharedLibraryTests {
    /// Finds one function, as the functions of the macro LIBRARY do.
    private static func find(
        _ name: StaticString
    ) -> (UnsafeMutableRawPointer, UnsafeMutablePointer<Int>) -> UnsafePointer<CChar>? {
        { library, function in
            let text = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
            if function.pointee == 0 { function.pointee = Int(bitPattern: dlsym(library, text)) }
            return function.pointee == 0 ? text : nil
        }
    }

    @Test func `when a library is missing, then the error names its package`() {
        let library = SharedLibrary(["libc.so.6", "libnothing.so.0"], packages: ["nothing0", "nothing-data"])
        let error = #expect(throws: MissingLibrary.self) { try library.functions(Self.find("getpid")) }
        #expect(error?.packages == ["nothing0", "nothing-data"])
        #expect(
            error?.description == "The library libnothing.so.0 (Debian: nothing0, nothing-data) is missing.")
    }

    @Test func `when a library lacks a function, then the error names it`() {
        let library = SharedLibrary(["libc.so.6"], packages: ["libc6"])
        let error = #expect(throws: MissingLibrary.self) { try library.functions(Self.find("no_function")) }
        #expect(error?.description == "The library libc.so.6 (Debian: libc6) is too old: it lacks no_function.")
    }

    @Test func `when the second file has the function, then it is found`() throws {
        let library = SharedLibrary(["libc.so.6", "libm.so.6"], packages: ["libc6"])
        #expect(try library.functions(Self.find("cos")) != 0)
    }
}
