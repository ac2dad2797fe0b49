#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A shared library that the program opens when it needs it first. A machine without the library runs the program.
package struct SharedLibrary: Sendable {
    /// The names of its files, as the dynamic linker knows them (dlopen(3)).
    package let fileNames: [String]
    /// The packages of Debian that have the files.
    package let packages: [String]

    package init(_ fileNames: [String], packages: [String]) {
        self.fileNames = fileNames
        self.packages = packages
    }

    /// Opens the library and returns its functions. It stays in the process, and opening it again costs less than 0.1 ms.
    ///
    /// - Parameter find: adds the functions of one open file to the structure, which is all zero at first. Returns the
    ///   name of a function that is still missing, or nil. Only nil after the last file says that the structure is
    ///   complete. The macro LIBRARY of `Sources/CLinux/library.h` makes such functions.
    /// - Throws: ``MissingLibrary`` if a file or a function is missing.
    package func functions<Functions>(
        _ find: (UnsafeMutableRawPointer, UnsafeMutablePointer<Functions>) -> UnsafePointer<CChar>?
    ) throws(MissingLibrary) -> Functions {
        let functions = UnsafeMutablePointer<Functions>.allocate(capacity: 1)
        defer { functions.deallocate() }
        memset(functions, 0, MemoryLayout<Functions>.size)
        var missing: UnsafePointer<CChar>?
        for fileName in fileNames {
            guard let file = dlopen(fileName, RTLD_NOW | RTLD_LOCAL) else {
                throw MissingLibrary(fileName: fileName, packages: packages)
            }
            missing = find(file, functions)
        }
        if let missing {
            throw MissingLibrary(
                fileName: fileNames.last ?? "", packages: packages, function: String(cString: missing))
        }
        return functions.pointee
    }
}

/// The error for a shared library that is not installed, or too old.
package struct MissingLibrary: Error, CustomStringConvertible {
    /// The name of its file.
    package let fileName: String
    /// The packages of Debian to install.
    package let packages: [String]
    /// The function that the library lacks; nil if there is no library.
    package let function: String?

    init(fileName: String, packages: [String], function: String? = nil) {
        self.fileName = fileName
        self.packages = packages
        self.function = function
    }

    /// One sentence for a person.
    package var description: String {
        let library = "The library \(fileName) (Debian: \(packages.joined(separator: ", ")))"
        return function.map { "\(library) is too old: it lacks \($0)." } ?? "\(library) is missing."
    }
}
