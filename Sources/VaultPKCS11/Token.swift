#if PKCS11
    internal import CPKCS11
    internal import VaultBiometric

    /// A token that is plugged in.
    struct Token {
        let module: TokenModule
        let slot: CK_SLOT_ID
        let slotInfo: CK_SLOT_INFO
        let info: CK_TOKEN_INFO
        let identity: TokenIdentity

        init(_ module: TokenModule, _ slot: CK_SLOT_ID, _ slotInfo: CK_SLOT_INFO, _ info: CK_TOKEN_INFO) {
            self.module = module
            self.slot = slot
            self.slotInfo = slotInfo
            self.info = info
            identity = TokenIdentity(info)
        }

        /// The name of the slot, for example of a card reader.
        var slotDescription: String {
            var slotInfo = slotInfo
            return text(&slotInfo.slotDescription)
        }

        /// Whether the slot calls itself hardware.
        var isHardware: Bool { slotInfo.flags & CKF_HW_SLOT != 0 }

        func guessLimit() throws -> GuessLimit {
            guard isHardware else {
                return .absent(
                    "The token \"\(identity.name)\" is made of software and limits no guesses. A thief who reads its "
                        + "files can try PINs without end.")
            }
            var module = CK_INFO()
            try self.module.ask(.listing) { $0.C_GetInfo?(&module) }
            guard !text(&module.manufacturerID).hasPrefix("tpm2-software") else {
                return .weak(
                    "The token \"\(identity.name)\" is in the TPM. Without a TPM lockout password, a thief with this "
                        + "machine can reset its count of wrong PINs. PKCS#11 does not show that password. Use the TPM "
                        + "directly.")
            }
            return .firm
        }

        private func has(_ flag: CK_FLAGS) -> Bool { info.flags & flag != 0 }

        /// Whether it is set up and asks for a PIN. Other tokens, such as the system's certificates, can protect
        /// nothing.
        var isUsable: Bool { has(CKF_TOKEN_INITIALIZED) && has(CKF_LOGIN_REQUIRED) }
        var hasPIN: Bool { has(CKF_USER_PIN_INITIALIZED) }
        var isLocked: Bool { has(CKF_USER_PIN_LOCKED) }
        var isFinalGuess: Bool { has(CKF_USER_PIN_FINAL_TRY) }
        /// Whether the PIN is entered at the token or its reader.
        var hasKeypad: Bool { has(CKF_PROTECTED_AUTHENTICATION_PATH) }

        /// The number of guesses that are left; nil if unknown. The flags only tell "none" and "the last one".
        var guessesLeft: Int? { isLocked ? 0 : isFinalGuess ? 1 : nil }

        /// The allowed size of a PIN in bytes; nil for a token that does not tell, or tells nonsense.
        var pinLength: ClosedRange<Int>? {
            let (least, most) = (max(1, Int(clamping: info.ulMinPinLen)), Int(clamping: info.ulMaxPinLen))
            return most >= least && most <= 1024 ? least...most : nil
        }

        var request: PINRequest {
            PINRequest(
                label: identity.name, guessesLeft: guessesLeft, isLow: has(CKF_USER_PIN_COUNT_LOW) || isFinalGuess,
                isFinal: isFinalGuess, length: pinLength ?? 1...64)
        }

        /// Returns the token that is in the slot now.
        ///
        /// - Throws: ``TokenFailure`` if the slot is empty.
        func now() throws -> Token { try Token.inSlot(slot, of: module) }

        /// Checks whether it is still in its slot.
        ///
        /// - Throws: `CancellationError` if the operation was given up.
        func isThere() throws -> Bool {
            do {
                return try now().identity == identity
            } catch is TokenFailure {
                return false
            }
        }

        static func inSlot(_ slot: CK_SLOT_ID, of module: TokenModule) throws -> Token {
            var slotInfo = CK_SLOT_INFO()
            try module.ask(.listing) { $0.C_GetSlotInfo?(slot, &slotInfo) }
            var info = CK_TOKEN_INFO()
            try module.ask(.listing) { $0.C_GetTokenInfo?(slot, &info) }
            return Token(module, slot, slotInfo, info)
        }

        /// Returns the error for a token that accepts no PIN. Most tokens can be unlocked only with their own tools and
        /// another PIN.
        ///
        /// - Parameter start: a sentence about the event before, if there was one.
        func lockedOut(_ start: String = "") -> BiometricError {
            BiometricError(
                .lockedOut,
                start
                    + "\"\(identity.name)\" accepts no PIN after too many wrong ones. Unlock it with its own tools and "
                    + "its PUK or administrator's PIN. If it is a TPM, wait and try again later.")
        }
    }

    extension TokenConnection {
        /// Returns the allowed tokens, in the order of the modules. An unreadable slot counts as empty.
        ///
        /// - Parameter isLast: returns true to stop after a token, as some readers are slow.
        /// - Throws: `CancellationError` if the operation was given up, or the error of `isLast`.
        func tokens(until isLast: (Token) throws -> Bool = { _ in false }) throws -> [Token] {
            guard let uri else { return [] }
            var tokens: [Token] = []
            for module in modules {
                for slot in try slots(of: module, uri) {
                    guard let token = try? Token.inSlot(slot, of: module) else { continue }
                    var (slotInfo, tokenInfo) = (token.slotInfo, token.info)
                    guard uri.matches(slot: slot, &slotInfo), uri.matches(&tokenInfo), token.isUsable else { continue }
                    tokens.append(token)
                    if try isLast(token) { return tokens }
                }
            }
            return tokens
        }

        /// Returns the occupied slots of an allowed module; none if the module cannot tell.
        private func slots(of module: TokenModule, _ uri: TokenURI) throws -> [CK_SLOT_ID] {
            do {
                var info = CK_INFO()
                try module.ask(.listing) { $0.C_GetInfo?(&info) }
                return try uri.matches(&info) ? module.slots() : []
            } catch is TokenFailure {
                return []
            }
        }
    }

    extension TokenModule {
        func slots() throws -> [CK_SLOT_ID] {
            var count: CK_ULONG = 0
            try ask(.listing) { $0.C_GetSlotList?(1, nil, &count) }
            // This leaves room for a few new slots. No real module has a thousand.
            var slots = [CK_SLOT_ID](repeating: 0, count: min(Int(clamping: count), 1024) + 8)
            count = CK_ULONG(slots.count)
            try ask(.listing) { $0.C_GetSlotList?(1, &slots, &count) }
            return Array(slots.prefix(Int(clamping: count)))
        }
    }
#endif
