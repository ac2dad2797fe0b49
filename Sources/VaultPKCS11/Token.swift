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

        /// What the slot is called: the name of a card reader, for example.
        var slotDescription: String {
            var slotInfo = slotInfo
            return text(&slotInfo.slotDescription)
        }

        /// Whether the slot says that it is a piece of hardware.
        var isHardware: Bool { slotInfo.flags & CKF_HW_SLOT != 0 }

        func guessLimit() throws -> GuessLimit {
            guard isHardware else {
                return .absent(
                    "The token \"\(identity.name)\" is made of software, which limits no guesses: whoever can read its "
                        + "files can try PINs without end.")
            }
            var module = CK_INFO()
            try self.module.ask(.listing) { $0.C_GetInfo?(&module) }
            guard !text(&module.manufacturerID).hasPrefix("tpm2-software") else {
                return .weak(
                    "The token \"\(identity.name)\" is kept by the TPM, whose count of wrong PINs whoever has this machine "
                        + "can set back unless the TPM has a lockout password, which cannot be seen through PKCS#11. Use the "
                        + "TPM itself.")
            }
            return .firm
        }

        private func has(_ flag: CK_FLAGS) -> Bool { info.flags & flag != 0 }

        /// Whether it asks for a PIN at all, and was set up. What else there is, such as the system's certificates, can
        /// protect nothing.
        var isUsable: Bool { has(CKF_TOKEN_INITIALIZED) && has(CKF_LOGIN_REQUIRED) }
        var hasPIN: Bool { has(CKF_USER_PIN_INITIALIZED) }
        var isLocked: Bool { has(CKF_USER_PIN_LOCKED) }
        var isFinalTry: Bool { has(CKF_USER_PIN_FINAL_TRY) }
        /// Whether the PIN is entered at the token or its reader.
        var hasKeypad: Bool { has(CKF_PROTECTED_AUTHENTICATION_PATH) }

        /// What its flags tell about the tries that are left: nothing but whether it is the last.
        var triesLeft: Int? { isLocked ? 0 : isFinalTry ? 1 : nil }

        /// What a PIN has, in bytes; nil for a token that does not tell, or tells nonsense.
        var pinLength: ClosedRange<Int>? {
            let (least, most) = (max(1, Int(clamping: info.ulMinPinLen)), Int(clamping: info.ulMaxPinLen))
            return most >= least && most <= 1024 ? least...most : nil
        }

        var request: PINRequest {
            PINRequest(
                label: identity.name, triesLeft: triesLeft, isLow: has(CKF_USER_PIN_COUNT_LOW) || isFinalTry,
                isFinal: isFinalTry, length: pinLength ?? 1...64)
        }

        /// The same slot as it is now.
        ///
        /// - Throws: ``TokenFailure`` when nothing is in it.
        func now() throws -> Token { try Token.inSlot(slot, of: module) }

        /// Whether it is still in its slot.
        ///
        /// - Throws: `CancellationError` when nobody waits any more.
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

        /// What to tell when it takes no PIN. Nothing but its own tools, or another PIN of them, unlocks most tokens.
        ///
        /// - Parameter start: what happened, if something did.
        func lockedOut(_ start: String = "") -> BiometricError {
            BiometricError(
                .lockedOut,
                start
                    + "\"\(identity.name)\" takes no PIN after too many wrong ones. Unlock it with its own tools, with "
                    + "its PUK or administrator's PIN. If it is a TPM, that ends by itself in a while.")
        }
    }

    extension TokenConnection {
        /// The tokens that are meant, in the order of the modules. A slot that cannot be read is as good as empty.
        ///
        /// - Parameter isLast: looks at a token, and tells whether those behind it need not be asked: some readers take
        ///   a while.
        /// - Throws: `CancellationError` when nobody waits any more; what `isLast` throws.
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

        /// The slots with something in them, of a module that is meant. One that cannot tell has none.
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
        /// The slots with a token in them.
        func slots() throws -> [CK_SLOT_ID] {
            var count: CK_ULONG = 0
            try ask(.listing) { $0.C_GetSlotList?(1, nil, &count) }
            // Room for some that come in the meantime; and no module has a thousand, whatever it says.
            var slots = [CK_SLOT_ID](repeating: 0, count: min(Int(clamping: count), 1024) + 8)
            count = CK_ULONG(slots.count)
            try ask(.listing) { $0.C_GetSlotList?(1, &slots, &count) }
            return Array(slots.prefix(Int(clamping: count)))
        }
    }
#endif
