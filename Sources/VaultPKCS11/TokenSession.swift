#if PKCS11
    internal import CPKCS11
    internal import VaultCrypto

    /// A session with a token, open during a function.
    struct TokenSession {
        let token: Token
        let handle: CK_SESSION_HANDLE

        var module: TokenModule { token.module }

        func ask(_ call: TokenCall, _ body: (CK_FUNCTION_LIST) -> CK_RV?) throws { try module.ask(call, body) }

        /// Logs in.
        ///
        /// - Parameters:
        ///   - pin: the PIN; nil if it is entered at the token.
        ///   - user: `CKU_CONTEXT_SPECIFIC` for a key that wants the PIN for each use.
        func logIn(_ pin: SharedSecret?, as user: CK_USER_TYPE = CKU_USER) throws {
            do {
                try logInOnce(pin, user)
            } catch let failure as TokenFailure where failure.code == CKR_USER_ALREADY_LOGGED_IN {
                // Another part of this process is logged in. The PIN of this call must be checked, so log out first.
                try ask(.loggingIn) { $0.C_Logout?(handle) }
                try logInOnce(pin, user)
            }
        }

        private func logInOnce(_ pin: SharedSecret?, _ user: CK_USER_TYPE) throws {
            try ask(.loggingIn) { functions in
                guard let pin else { return functions.C_Login?(handle, user, nil, 0) }
                return pin.bytes.withUnsafeBytes { bytes in
                    // The module takes a mutable pointer, but does not write.
                    let start = UnsafeMutablePointer(mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
                    return functions.C_Login?(handle, user, start, CK_ULONG(bytes.count))
                }
            }
        }

        /// Finds the objects with all of these attributes.
        func objects(_ wanted: [TokenAttribute]) throws -> [CK_OBJECT_HANDLE] {
            try wanted.withTemplate { template, count in
                try ask(.findingKey) { $0.C_FindObjectsInit?(handle, template, count) }
            }
            defer { module.tidy { $0.C_FindObjectsFinal?(handle) } }
            var found: [CK_OBJECT_HANDLE] = []
            // The limit is more than any token has. Some tokens return one key at a time.
            while found.count < 1024 {
                var part = [CK_OBJECT_HANDLE](repeating: 0, count: 32)
                var count: CK_ULONG = 0
                try ask(.findingKey) { $0.C_FindObjects?(handle, &part, CK_ULONG(part.count), &count) }
                if count == 0 { break }
                found += part.prefix(Int(clamping: count))
            }
            return found
        }

        /// Reads attributes of an object. Attributes that it lacks or hides are missing.
        func attributes(
            _ types: [CK_ATTRIBUTE_TYPE], of object: CK_OBJECT_HANDLE
        ) throws -> [CK_ATTRIBUTE_TYPE: [UInt8]] {
            // A modulus of 16384 bits fits.
            let size = 2048
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size * types.count, alignment: 16)
            defer { buffer.deallocate() }
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            let places = types.indices.map {
                UnsafeMutableRawBufferPointer(rebasing: buffer[$0 * size..<($0 + 1) * size])
            }
            var template = zip(types, places).map {
                CK_ATTRIBUTE(type: $0, pValue: $1.baseAddress, ulValueLen: CK_ULONG(size))
            }
            do {
                try ask(.findingKey) { $0.C_GetAttributeValue?(handle, object, &template, CK_ULONG(types.count)) }
            } catch let failure as TokenFailure {
                // These codes are about some attributes. The others are there.
                let partial = [CKR_ATTRIBUTE_TYPE_INVALID, CKR_ATTRIBUTE_SENSITIVE, CKR_BUFFER_TOO_SMALL]
                guard partial.contains(failure.code) else { throw failure }
            }
            var values: [CK_ATTRIBUTE_TYPE: [UInt8]] = [:]
            for (attribute, place) in zip(template, places) where attribute.ulValueLen <= CK_ULONG(size) {
                values[attribute.type] = Array(place[..<Int(attribute.ulValueLen)])
            }
            return values
        }

        func destroy(_ object: CK_OBJECT_HANDLE) { module.tidy { $0.C_DestroyObject?(handle, object) } }
    }

    extension Token {
        /// Runs `body` with a session, and logs out and closes it after that.
        ///
        /// - Parameter canWrite: whether it can make permanent objects.
        func withSession<Answer>(canWrite: Bool = false, _ body: (TokenSession) throws -> Answer) throws -> Answer {
            var handle: CK_SESSION_HANDLE = 0
            let flags = CKF_SERIAL_SESSION | (canWrite ? CKF_RW_SESSION : 0)
            try module.ask(.opening) { $0.C_OpenSession?(slot, flags, nil, nil, &handle) }
            defer { module.tidy { $0.C_CloseSession?(handle) } }
            return try body(TokenSession(token: self, handle: handle))
        }

        /// Runs `body` in a logged-in session, and logs out after that.
        ///
        /// The PIN goes to this token only: the session checks the token again, and ends if it is pulled out.
        ///
        /// - Throws: ``TokenFailure``, with `isBeforeLogin` if another token is in the slot now.
        func withLogin<Answer>(
            _ pin: SharedSecret?, canWrite: Bool = false, _ body: (TokenSession) throws -> Answer
        ) throws -> Answer {
            try TokenGate.shared.pass(identity, isGivenUp: module.isGivenUp) {
                try withSession(canWrite: canWrite) { session in
                    guard try now().identity == identity else {
                        throw TokenFailure(code: CKR_TOKEN_NOT_PRESENT, during: .opening)
                    }
                    try session.logIn(pin)
                    defer { module.tidy { $0.C_Logout?(session.handle) } }
                    return try body(session)
                }
            }
        }
    }
#endif
