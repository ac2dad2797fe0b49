#if FIDO2
    internal import CFIDO2
    internal import VaultBiometric

    /// The security keys that are plugged in, for one thread.
    struct KeyRing {
        /// nil for those that libfido2 finds itself.
        let devices: (any FIDO2Devices)?
        /// Whether a key without a PIN serves.
        let allowsTouchOnly: Bool
        /// How long each command may take.
        let limit: Duration
        let interruption: Interruption

        /// A key that could be enrolled.
        struct Candidate: Sendable {
            let device: FIDO2Device
            let abilities: KeyAbilities
            /// nil where no PIN is set.
            let triesLeft: Int?
        }

        func connect(to device: FIDO2Device) throws -> KeyConnection {
            let connection = try KeyConnection(to: device, of: devices, within: limit, interruption)
            try interruption.check()
            return connection
        }

        /// The keys that are plugged in.
        ///
        /// - Throws: ``BiometricError`` with code `hardwareMissing` when there is none.
        func list() throws -> [FIDO2Device] {
            let listed: [FIDO2Device]
            do {
                listed = try devices?.list() ?? Self.listFromLibrary()
            } catch {
                throw BiometricError(.failed, "The security keys could not be listed. Try again.", underlying: error)
            }
            guard !listed.isEmpty else {
                throw BiometricError(
                    .hardwareMissing,
                    "No security key is plugged in, or this user may not use it: most systems let only whoever is signed in "
                        + "at the machine itself.")
            }
            return listed
        }

        /// The one key that can be enrolled.
        ///
        /// - Throws: ``BiometricError``, when there is none, or more than one.
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
                    .failed, "Several security keys are plugged in. Leave only the one that is to be enrolled.")
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
                    "The security key (\(device.label)) has no PIN. Set one first, for example with `fido2-token -S`.")
            }
            return Candidate(
                device: device, abilities: abilities, triesLeft: abilities.hasPIN ? try key.pinTriesLeft() : nil)
        }

        /// Finds the key that has this credential, and asks for no touch.
        ///
        /// - Throws: ``BiometricError``: `hardwareMissing` when no key is plugged in, `hardwareReplaced` when it is none of those.
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
                    // Another key may be the one.
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

        /// Does something with a key, and finds out whether it was unplugged when that fails.
        func using<Answer>(_ device: FIDO2Device, _ body: () throws -> Answer) throws -> Answer {
            do {
                return try body()
            } catch let failure as KeyFailure where !failure.isAnswer {
                // Somebody else may have taken its place.
                if let listed = try? list(), listed.contains(device) { throw failure }
                throw BiometricError(
                    .hardwareMissing, "The security key (\(device.label)) was unplugged. Plug it in, and try again.",
                    underlying: failure)
            }
        }

        /// Has a key do something for which it may want a PIN.
        func asking<Answer>(
            _ device: FIDO2Device, _ open: KeyConnection? = nil, _ body: (KeyConnection) throws -> Answer
        ) throws -> Answer {
            try using(device) {
                let key = try open ?? connect(to: device)
                do {
                    return try body(key)
                } catch let failure as KeyFailure where failure.isWrongPIN {
                    // It counted; whether it tells how far is another matter.
                    guard let triesLeft = try? key.pinTriesLeft() else { throw failure }
                    throw BiometricError(failure).with(triesLeft: triesLeft)
                }
            }
        }

        private static func listFromLibrary() throws -> [FIDO2Device] {
            // More than fit into one machine.
            let size = 64
            var count = 0
            guard let list = fido_dev_info_new(size) else {
                throw KeyFailure(code: FIDO_ERR_INTERNAL, during: .preparing)
            }
            defer {
                var list: OpaquePointer? = list
                fido_dev_info_free(&list, size)
            }
            try KeyFailure.check(fido_dev_info_manifest(list, size, &count), .preparing)
            return (0..<min(count, size)).compactMap { index in
                let info = fido_dev_info_ptr(list, index)
                guard let path = fido_dev_info_path(info) else { return nil }
                let names = [fido_dev_info_manufacturer_string(info), fido_dev_info_product_string(info)]
                let name = names.compactMap { $0.map { String(cString: $0) } }.joined(separator: " ")
                return FIDO2Device(path: String(cString: path), name: name)
            }
        }
    }

    extension FIDO2Device {
        /// The name, which is what a piece of hardware says, without anything that a terminal would take for a command.
        var label: String {
            let printable = name.unicodeScalars.filter { (0x20..<0x7F).contains($0.value) }
            let words = String(String.UnicodeScalarView(printable)).split(separator: " ").joined(separator: " ")
            return words.isEmpty ? "security key" : String(words.prefix(64))
        }
    }
#endif
