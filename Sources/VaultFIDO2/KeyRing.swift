#if FIDO2
    internal import CFIDO2
    internal import VaultBiometric

    /// The security keys that are plugged in, for one thread.
    struct KeyRing {
        /// The source of keys; nil for libfido2's own.
        let devices: (any FIDO2Devices)?
        /// Whether a key without a PIN is allowed.
        let allowsTouchOnly: Bool
        /// The time limit of each command.
        let limit: Duration
        let interruption: Interruption
        let fido2: LibFIDO2

        /// A key that could be enrolled.
        struct Candidate: Sendable {
            let device: FIDO2Device
            let abilities: KeyAbilities
            /// The number of PINs that are left; nil if no PIN is set.
            let guessesLeft: Int?
        }

        func connect(to device: FIDO2Device) throws -> KeyConnection {
            let connection = try KeyConnection(to: device, of: devices, within: limit, interruption, fido2)
            try interruption.check()
            return connection
        }

        /// Returns the keys that are plugged in.
        ///
        /// - Throws: ``BiometricError`` with code `hardwareMissing` if there is none.
        func list() throws -> [FIDO2Device] {
            let listed: [FIDO2Device]
            do {
                listed = try devices?.list() ?? listFromLibrary()
            } catch {
                throw BiometricError(.failed, "The security keys could not be listed. Try again.", underlying: error)
            }
            guard !listed.isEmpty else {
                throw BiometricError(
                    .hardwareMissing,
                    "No security key is plugged in, or this user may not use it. Plug in a key, and log in at the "
                        + "machine itself: most systems refuse remote users.")
            }
            return listed
        }

        /// Returns the one key that can be enrolled.
        ///
        /// - Throws: ``BiometricError`` if there is none, or more than one.
        func candidate() throws -> Candidate {
            var candidates: [Candidate] = []
            var problem: (any Error)?
            for device in try list() {
                do {
                    candidates.append(try using(device) { try examine(device) })
                } catch let error as CancellationError {
                    throw error
                } catch {
                    problem = problem ?? error
                }
            }
            guard candidates.count <= 1 else {
                throw BiometricError(
                    .failed, "Several security keys are plugged in. Leave only the key to enrol.")
            }
            if let candidate = candidates.first { return candidate }
            throw problem ?? KeyFailure(code: FIDO_ERR_INTERNAL, during: .describing)
        }

        private func examine(_ device: FIDO2Device) throws -> Candidate {
            let key = try connect(to: device)
            let abilities = try key.abilities()
            guard abilities.hasSecrets else {
                throw BiometricError(
                    .unavailable,
                    "The security key (\(device.label)) cannot protect secrets: it lacks hmac-secret. Use another one.")
            }
            guard abilities.hasPIN || allowsTouchOnly else {
                throw BiometricError(
                    .unavailable,
                    "The security key (\(device.label)) has no PIN. Set a PIN first: fido2-token -S DEVICE")
            }
            return Candidate(
                device: device, abilities: abilities, guessesLeft: abilities.hasPIN ? try key.pinGuessesLeft() : nil)
        }

        /// Finds the key with this credential, without a touch.
        ///
        /// - Throws: ``BiometricError``: `hardwareMissing` if no key is plugged in, `hardwareReplaced` if no key has
        ///   the credential.
        func find(_ credentialID: [UInt8]) throws -> (device: FIDO2Device, key: KeyConnection) {
            var problem: (any Error)?
            for device in try list() {
                do {
                    if let key = try using(device, { try key(device, ifItKnows: credentialID) }) {
                        return (device, key)
                    }
                } catch let error as CancellationError {
                    throw error
                } catch {
                    // Another key may have the credential.
                    problem = problem ?? error
                }
            }
            throw problem ?? BiometricError(.hardwareReplaced, BiometricError.replacedText)
        }

        private func key(_ device: FIDO2Device, ifItKnows credentialID: [UInt8]) throws -> KeyConnection? {
            let key = try connect(to: device)
            guard try key.abilities().hasSecrets, try key.knows(credentialID) else { return nil }
            return key
        }

        /// Calls `body` with a key. After a failure, checks whether the key was unplugged.
        func using<Answer>(_ device: FIDO2Device, _ body: () throws -> Answer) throws -> Answer {
            do {
                return try body()
            } catch let failure as KeyFailure where !failure.isAnswer {
                // Another key may be in its place.
                if let listed = try? list(), listed.contains(device) { throw failure }
                throw BiometricError(
                    .hardwareMissing, "The security key (\(device.label)) was unplugged. Plug it in, and try again.",
                    underlying: failure)
            }
        }

        /// Calls `body` for a command that may need a PIN.
        func asking<Answer>(
            _ device: FIDO2Device, _ open: KeyConnection? = nil, _ body: (KeyConnection) throws -> Answer
        ) throws -> Answer {
            try using(device) {
                let key = try open ?? connect(to: device)
                do {
                    return try body(key)
                } catch let failure as KeyFailure where failure.isWrongPIN {
                    // The key counted the wrong PIN, but may not tell the number that is left.
                    guard let guessesLeft = try? key.pinGuessesLeft() else { throw failure }
                    throw BiometricError(failure).with(guessesLeft: guessesLeft)
                }
            }
        }

        private func listFromLibrary() throws -> [FIDO2Device] {
            // More keys than fit into one machine.
            let size = 64
            var count = 0
            guard let list = fido2.fido_dev_info_new(size) else {
                throw KeyFailure(code: FIDO_ERR_INTERNAL, during: .preparing)
            }
            defer {
                var list: OpaquePointer? = list
                fido2.fido_dev_info_free(&list, size)
            }
            try KeyFailure.check(fido2.fido_dev_info_manifest(list, size, &count), .preparing)
            return (0..<min(count, size)).compactMap { index in
                let info = fido2.fido_dev_info_ptr(list, index)
                guard let path = fido2.fido_dev_info_path(info) else { return nil }
                let names = [fido2.fido_dev_info_manufacturer_string(info), fido2.fido_dev_info_product_string(info)]
                let name = names.compactMap { $0.map { String(cString: $0) } }.joined(separator: " ")
                return FIDO2Device(path: String(cString: path), name: name)
            }
        }
    }

    extension FIDO2Device {
        /// The name without terminal commands, as it comes from hardware.
        var label: String {
            let printable = name.unicodeScalars.filter { (0x20..<0x7F).contains($0.value) }
            let words = String(String.UnicodeScalarView(printable)).split(separator: " ").joined(separator: " ")
            return words.isEmpty ? "security key" : String(words.prefix(64))
        }
    }
#endif
