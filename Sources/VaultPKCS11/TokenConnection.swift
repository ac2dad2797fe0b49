#if PKCS11
    internal import CPKCS11
    internal import Foundation
    internal import VaultBiometric

    /// The started modules of a URI. They run for one operation only. So no data of ours stays in a module, and changes
    /// of tokens in between do not matter.
    final class TokenConnection: @unchecked Sendable {
        // The mark is sound, as only one thread at a time uses it: the parts of an operation run in turn, and a
        // given-up part is the last one.

        /// The text of the URI. ``open(isGivenUp:)`` parses it, on the right thread.
        private let text: String
        private(set) var uri: TokenURI?
        private var p11kit: LibP11Kit?
        private var list: UnsafeMutablePointer<UnsafeMutablePointer<CK_FUNCTION_LIST>?>?
        private var single: UnsafeMutablePointer<CK_FUNCTION_LIST>?
        private(set) var modules: [TokenModule] = []
        /// The token from before the question for the PIN.
        var found: Token?
        /// Whether the operation was given up.
        private var isGivenUp: @Sendable () -> Bool = { false }

        /// The lock around starting and stopping. p11-kit counts a module's users, but the last user may stop it just
        /// when the next one finds it started.
        static let startOrStop = NSLock()

        init(_ text: String) { self.text = text }

        deinit {
            // The last reference may end on a thread that must not block.
            guard list != nil || single != nil else { return }
            Remains(p11kit: p11kit, list: list, single: single, modules: modules).releaseLater()
        }

        /// Loads and starts the modules, unless they run.
        func open(isGivenUp: @escaping @Sendable () -> Bool) throws {
            self.isGivenUp = isGivenUp
            for module in modules { module.isGivenUp = isGivenUp }
            if uri == nil { try start() }
        }

        private func start() throws {
            // Another thread's module may hang at its start.
            while !Self.startOrStop.lock(before: .soon) {
                if isGivenUp() { throw CancellationError() }
            }
            defer { Self.startOrStop.unlock() }
            if isGivenUp() { throw CancellationError() }
            let p11kit = try LibP11Kit.open()
            self.p11kit = p11kit
            let uri = try TokenURI(text)
            if let path = uri.modulePath {
                guard let functions = p11kit.p11_kit_module_load(path, 0) else {
                    throw BiometricError(.unavailable, "The PKCS#11 module \(path) cannot be loaded. Correct its path.")
                }
                single = functions
                try TokenFailure.check(p11kit.p11_kit_module_initialize(functions), .loading)
                modules = [TokenModule(functions, isGivenUp)]
            } else {
                try openConfigured(named: uri.moduleName, p11kit)
            }
            self.uri = uri
        }

        /// Opens p11-kit's modules. The packages of most modules configure p11-kit (pkcs11.conf(5)).
        private func openConfigured(named name: String?, _ p11kit: LibP11Kit) throws {
            guard let list = p11kit.p11_kit_modules_load(nil, 0) else {
                throw BiometricError(
                    .unavailable, "p11-kit cannot load the PKCS#11 modules. Correct its configuration.")
            }
            self.list = list
            var next = list
            while let functions = next.pointee {
                next += 1
                // The modules with the system's certificates have no tokens, and start slowly.
                let isMeant =
                    name.map { $0 == moduleName(functions, p11kit) }
                    ?? (p11kit.p11_kit_module_get_flags(functions) & Int32(P11_KIT_MODULE_TRUSTED) == 0)
                if !isMeant { continue }
                // A broken module must not stop the others.
                if p11kit.p11_kit_module_initialize(functions) == CKR_OK {
                    modules.append(TokenModule(functions, isGivenUp))
                }
            }
            if modules.isEmpty {
                throw BiometricError(
                    .unavailable,
                    name.map { "p11-kit has no working PKCS#11 module \"\($0)\"." }
                        ?? "There is no PKCS#11 module. Install the module for the token, for example in Debian: "
                        + "apt install opensc-pkcs11")
            }
        }

        private func moduleName(
            _ functions: UnsafeMutablePointer<CK_FUNCTION_LIST>, _ p11kit: LibP11Kit
        ) -> String? {
            guard let name = p11kit.p11_kit_module_get_name(functions) else { return nil }
            defer { free(name) }
            return String(cString: name)
        }

        /// Stops the modules that nobody else in this process uses.
        func close() {
            Remains(p11kit: p11kit, list: list, single: single, modules: modules).release(isGivenUp: isGivenUp)
            (list, single, modules, uri, found) = (nil, nil, [], nil, nil)
        }

        /// Restarts the modules. A remote module does not come back otherwise.
        func reopen() throws {
            close()
            try start()
        }
    }

    /// The modules that must go back to p11-kit.
    private struct Remains: @unchecked Sendable {
        /// Nil only without modules.
        let p11kit: LibP11Kit?
        let list: UnsafeMutablePointer<UnsafeMutablePointer<CK_FUNCTION_LIST>?>?
        let single: UnsafeMutablePointer<CK_FUNCTION_LIST>?
        let modules: [TokenModule]

        /// - Parameter isGivenUp: whether the operation was given up. Then another thread does the work later, as this
        ///   one may hold a PIN.
        func release(isGivenUp: () -> Bool) {
            guard let p11kit, list != nil || single != nil else { return }
            while !TokenConnection.startOrStop.lock(before: .soon) {
                if isGivenUp() { return releaseLater() }
            }
            defer { TokenConnection.startOrStop.unlock() }
            for module in modules { _ = p11kit.p11_kit_module_finalize(module.functions) }
            if let list { p11kit.p11_kit_modules_release(list) }
            if let single { p11kit.p11_kit_module_release(single) }
        }

        func releaseLater() {
            Thread.detachNewThread { @Sendable in release { false } }
        }
    }

    /// A started module.
    final class TokenModule {
        let functions: UnsafeMutablePointer<CK_FUNCTION_LIST>
        /// Whether the operation was given up.
        fileprivate(set) var isGivenUp: @Sendable () -> Bool

        init(_ functions: UnsafeMutablePointer<CK_FUNCTION_LIST>, _ isGivenUp: @escaping @Sendable () -> Bool) {
            self.functions = functions
            self.isGivenUp = isGivenUp
        }

        /// Calls a function of the module.
        ///
        /// - Throws: ``TokenFailure``; `CancellationError` if the operation was given up.
        func ask(_ call: TokenCall, _ body: (CK_FUNCTION_LIST) -> CK_RV?) throws {
            if isGivenUp() { throw CancellationError() }
            try TokenFailure.check(body(functions.pointee), call)
        }

        /// Cleans up, even after the operation was given up. Failures do not matter.
        func tidy(_ body: (CK_FUNCTION_LIST) -> CK_RV?) { _ = body(functions.pointee) }
    }
#endif
