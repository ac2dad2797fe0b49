#if PKCS11
    import CPKCS11
    import Foundation
    import Testing
    import VaultBase

    @testable import VaultPKCS11

    /// The modules that p11-kit knows in the tests: only the tests' modules, and no module of the machine.
    enum TestModules {
        private static let p11kit: LibP11KitForTests? = try? SharedLibrary(["libp11-kit.so.0"], packages: [])
            .functions(LibP11KitForTests_find)

        private static let folder: URL? = {
            let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let nothing = folder.appending(path: "none").path
            // p11-kit keeps the pointers.
            p11kit?.p11_kit_override_system_files(
                strdup(nothing), strdup(nothing), strdup(folder.path), strdup(nothing), strdup(nothing))
            atexit { if let folder = TestModules.folder { try? FileManager.default.removeItem(at: folder) } }
            return folder
        }()

        /// Makes the server at a socket known, and returns the name of the module.
        static func add(socket: String) throws -> String {
            let name = "test-\(UUID().uuidString.lowercased())"
            let file = try #require(folder).appending(path: "\(name).module")
            try Data("remote: unix:path=\(socket)\n".utf8).write(to: file)
            // p11-kit reads its configuration when no module is in use. A cancelled call may still use one.
            while !isKnown(name) { sched_yield() }
            return name
        }

        static func remove(_ name: String) {
            guard let folder else { return }
            try? FileManager.default.removeItem(at: folder.appending(path: "\(name).module"))
        }

        private static func isKnown(_ name: String) -> Bool {
            guard let library = try? LibP11Kit.open(), let list = library.p11_kit_modules_load(nil, 0) else {
                return false
            }
            defer { library.p11_kit_modules_release(list) }
            return p11kit?.p11_kit_module_for_name(list, name) != nil
        }
    }
#endif
