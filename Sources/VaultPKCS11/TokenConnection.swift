#if PKCS11
    internal import CPKCS11
    internal import Foundation
    internal import VaultBiometric

    /// The modules that a URI means, started. They are used for one operation and then stopped: nothing of ours stays in
    /// a module while nobody signs in, and what is pulled out or put in meanwhile needs no attention.
    final class TokenConnection: @unchecked Sendable {
        // Sound because one thread at a time uses it: each part of an operation has its own, and a part that is given up
        // is the last one.

        /// What was asked for. It is read by ``open(isGivenUp:)``, on the right thread.
        private let text: String
        private(set) var uri: TokenURI?
        private var list: UnsafeMutablePointer<UnsafeMutablePointer<CK_FUNCTION_LIST>?>?
        private var single: UnsafeMutablePointer<CK_FUNCTION_LIST>?
        private(set) var modules: [TokenModule] = []
        /// The token that was found before the PIN was asked for.
        var found: Token?
        /// Whether nobody waits any more.
        private var isGivenUp: @Sendable () -> Bool = { false }

        /// p11-kit counts who uses a module, but does not keep the last one from stopping it while the next one finds it
        /// started.
        fileprivate static let startOrStop = NSLock()

        init(_ text: String) { self.text = text }

        deinit {
            // Whoever let go of it last may be on a thread that must not wait.
            guard list != nil || single != nil else { return }
            let remains = Remains(list: list, single: single, modules: modules)
            Thread.detachNewThread { @Sendable in remains.release() }
        }

        /// Loads and starts the modules, unless that was done already.
        ///
        /// - Parameter isGivenUp: whether nobody waits any more.
        func open(isGivenUp: @escaping @Sendable () -> Bool) throws {
            self.isGivenUp = isGivenUp
            for module in modules { module.isGivenUp = isGivenUp }
            if uri == nil { try start() }
        }

        private func start() throws {
            Self.startOrStop.lock()
            defer { Self.startOrStop.unlock() }
            if isGivenUp() { throw CancellationError() }
            let uri = try TokenURI(text)
            if let path = uri.modulePath {
                guard let functions = p11_kit_module_load(path, 0) else {
                    throw BiometricError(.unavailable, "There is no PKCS#11 module that could be loaded at \(path).")
                }
                single = functions
                try TokenFailure.check(p11_kit_module_initialize(functions), .loading)
                modules = [TokenModule(functions, isGivenUp)]
            } else {
                try openConfigured(named: uri.moduleName)
            }
            self.uri = uri
        }

        /// Those that p11-kit knows: the packages of most modules tell it (pkcs11.conf(5)).
        private func openConfigured(named name: String?) throws {
            guard let list = p11_kit_modules_load(nil, 0) else {
                throw BiometricError(
                    .unavailable, "p11-kit cannot load the PKCS#11 modules: its configuration is wrong.")
            }
            self.list = list
            var next = list
            while let functions = next.pointee {
                next += 1
                // Those with the certificates of the system are no tokens, and take a while to start.
                let isMeant =
                    name.map { $0 == moduleName(functions) }
                    ?? (p11_kit_module_get_flags(functions) & Int32(P11_KIT_MODULE_TRUSTED) == 0)
                if !isMeant { continue }
                // One that does not work must not keep the others from working.
                if p11_kit_module_initialize(functions) == CKR_OK { modules.append(TokenModule(functions, isGivenUp)) }
            }
            if modules.isEmpty {
                throw BiometricError(
                    .unavailable,
                    name.map { "p11-kit knows no PKCS#11 module \"\($0)\" that works." }
                        ?? "There is no PKCS#11 module. Install the one for the token: ykcs11 or opensc-pkcs11, for "
                        + "example, in Debian.")
            }
        }

        private func moduleName(_ functions: UnsafeMutablePointer<CK_FUNCTION_LIST>) -> String? {
            guard let name = p11_kit_module_get_name(functions) else { return nil }
            defer { free(name) }
            return String(cString: name)
        }

        /// Stops the modules, as far as nobody else in this process uses them.
        func close() {
            Remains(list: list, single: single, modules: modules).release()
            (list, single, modules, uri, found) = (nil, nil, [], nil, nil)
        }

        /// Starts the modules anew. One that is at the other end of a connection does not come back otherwise.
        func reopen() throws {
            close()
            try start()
        }
    }

    /// What has to be given back to p11-kit.
    private struct Remains: @unchecked Sendable {
        let list: UnsafeMutablePointer<UnsafeMutablePointer<CK_FUNCTION_LIST>?>?
        let single: UnsafeMutablePointer<CK_FUNCTION_LIST>?
        let modules: [TokenModule]

        func release() {
            TokenConnection.startOrStop.lock()
            defer { TokenConnection.startOrStop.unlock() }
            for module in modules { p11_kit_module_finalize(module.functions) }
            if let list { p11_kit_modules_release(list) }
            if let single { p11_kit_module_release(single) }
        }
    }

    /// A module that was started.
    final class TokenModule {
        let functions: UnsafeMutablePointer<CK_FUNCTION_LIST>
        /// Whether nobody waits any more.
        fileprivate(set) var isGivenUp: @Sendable () -> Bool

        init(_ functions: UnsafeMutablePointer<CK_FUNCTION_LIST>, _ isGivenUp: @escaping @Sendable () -> Bool) {
            self.functions = functions
            self.isGivenUp = isGivenUp
        }

        /// Asks it for something.
        ///
        /// - Throws: ``TokenFailure``; `CancellationError` when nobody waits any more.
        func ask(_ call: TokenCall, _ body: (CK_FUNCTION_LIST) -> CK_RV?) throws {
            if isGivenUp() { throw CancellationError() }
            try TokenFailure.check(body(functions.pointee), call)
        }

        /// Tidies up: also when nobody waits any more, and whatever comes of it.
        func tidy(_ body: (CK_FUNCTION_LIST) -> CK_RV?) { _ = body(functions.pointee) }
    }
#endif
