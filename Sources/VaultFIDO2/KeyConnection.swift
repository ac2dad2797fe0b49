#if FIDO2
    internal import CFIDO2
    internal import VaultBiometric

    /// A conversation with a security key, for one thread.
    ///
    /// The connection lives for one operation only. So other programs can use the key, and a person may unplug it while
    /// typing a PIN.
    final class KeyConnection {
        let fido2: LibFIDO2
        let device: OpaquePointer
        private let interruption: Interruption

        /// Opens the key and reads its abilities.
        ///
        /// - Parameter limit: the library's time limit for each command. `HardwareThread` has its own.
        init(
            to key: FIDO2Device, of devices: (any FIDO2Devices)?, within limit: Duration, _ interruption: Interruption,
            _ fido2: LibFIDO2
        ) throws {
            try interruption.check()
            guard let device = fido2.fido_dev_new() else { throw KeyFailure(code: FIDO_ERR_INTERNAL, during: .opening) }
            self.fido2 = fido2
            self.device = device
            self.interruption = interruption
            try KeyFailure.check(fido2.fido_dev_set_timeout(device, limit.wholeMilliseconds), .preparing)
            if let devices {
                let bridge = DeviceBridge(devices, key)
                var functions = DeviceBridge.functions
                try KeyFailure.check(fido2.fido_dev_set_io_functions(device, &functions), .preparing)
                try withExtendedLifetime(bridge) {
                    try KeyFailure.check(fido2.fido_dev_open(device, bridge.path), .opening)
                }
            } else {
                try KeyFailure.check(fido2.fido_dev_open(device, key.path), .opening)
            }
            interruption.attach(device, fido2)
        }

        deinit {
            interruption.detach(device)
            // The call fails for a key that was never opened. That does not matter.
            _ = fido2.fido_dev_close(device)
            var device: OpaquePointer? = device
            fido2.fido_dev_free(&device)
        }

        /// Sends a command to the key.
        ///
        /// - Throws: ``KeyFailure``; `CancellationError` if the call was given up.
        func send(_ command: KeyCommand, _ body: (OpaquePointer) -> CInt) throws {
            try interruption.check()
            try KeyFailure.check(body(device), command)
        }

        /// Returns the number of wrong PINs that are left (CTAP 2.1 section 6.5, "getPINRetries").
        func pinGuessesLeft() throws -> Int {
            var count: CInt = 0
            try send(.countingGuesses) { fido2.fido_dev_get_retry_count($0, &count) }
            return max(0, Int(count))
        }

        /// Returns the key's abilities (CTAP 2.1 section 6.4, "authenticatorGetInfo").
        func abilities() throws -> KeyAbilities {
            guard fido2.fido_dev_is_fido2(device) else { return KeyAbilities() }
            var pointer = fido2.fido_cbor_info_new()
            defer { fido2.fido_cbor_info_free(&pointer) }
            guard let info = pointer else { throw KeyFailure(code: FIDO_ERR_INTERNAL, during: .describing) }
            try send(.describing) { fido2.fido_dev_get_cbor_info($0, info) }
            func strings(_ start: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ count: Int) -> [String] {
                UnsafeBufferPointer(start: start, count: start == nil ? 0 : count).compactMap { item in
                    item.map { String(cString: $0) }
                }
            }
            return KeyAbilities(
                extensions: strings(
                    fido2.fido_cbor_info_extensions_ptr(info), fido2.fido_cbor_info_extensions_len(info)),
                hasPIN: fido2.fido_dev_has_pin(device),
                shortestPIN: Int(clamping: fido2.fido_cbor_info_minpinlen(info)))
        }
    }

    /// The abilities of a security key.
    struct KeyAbilities: Sendable {
        /// The extensions; empty for a key that knows only the older U2F.
        var extensions: [String] = []
        /// Whether a PIN is set.
        var hasPIN = false
        /// The shortest PIN in Unicode characters; 0 if the key does not tell.
        var shortestPIN = 0

        /// Whether the key has the HMAC Secret Extension (CTAP 2.1 section 12.5).
        var hasSecrets: Bool { extensions.contains("hmac-secret") }

        /// The allowed size of a PIN in bytes (CTAP 2.1 section 6.5.1, "PIN Composition Requirements").
        var pinLength: ClosedRange<Int> { min(max(KeyPIN.length.lowerBound, shortestPIN), 63)...63 }
    }

    extension Duration {
        /// The milliseconds for C, at least one.
        fileprivate var wholeMilliseconds: CInt {
            let (seconds, attoseconds) = components
            let milliseconds = Double(seconds) * 1000 + Double(attoseconds) / 1e15
            return CInt(min(max(1, milliseconds), Double(CInt.max)))
        }
    }
#endif
