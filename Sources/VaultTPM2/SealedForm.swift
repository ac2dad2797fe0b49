#if TPM2
    internal import VaultBiometric

    /// The bytes of a ``ProtectedSecret``, with which the TPM finds its key and opens the secret.
    ///
    /// ```
    /// "CVTPM2" ‖ version 1 ‖ key name ‖ public area ‖ private area ‖ PCR list ‖ checksum (32 bytes)
    /// ```
    /// Each of the four parts stands behind its length in two bytes, big-endian. The list has 33 bytes for a PCR: its
    /// number and its value.
    struct SealedForm: Sendable {
        /// The name of the storage key.
        let keyName: [UInt8]
        let object: SealedObject
        /// The condition on the registers; nil if the PIN is enough.
        let policy: PCRPolicy?

        private static let start = Array("CVTPM2".utf8) + [1]

        static let damaged = BiometricError(
            .failed,
            "The stored data for the TPM is damaged, or from a newer version. Log in with another method, then enrol "
                + "the TPM again.")

        init(keyName: [UInt8], object: SealedObject, policy: PCRPolicy?) {
            self.keyName = keyName
            self.object = object
            self.policy = policy
        }

        var bytes: [UInt8] {
            let list = policy?.values.flatMap { [UInt8($0.register)] + $0.value } ?? []
            var writer = StoredBytesWriter(start: Self.start)
            for field in [keyName, object.publicArea, object.privateArea, list] { writer.appendField(field) }
            return writer.finished()
        }

        /// - Throws: ``damaged``.
        init(_ bytes: [UInt8]) throws(BiometricError) {
            var reader = try StoredBytesReader(bytes, start: Self.start, damaged: Self.damaged)
            keyName = try reader.readField()
            object = SealedObject(publicArea: try reader.readField(), privateArea: try reader.readField())
            let list = try reader.readField()
            guard reader.isAtEnd, keyName.count == TPMName.size else { throw Self.damaged }
            policy = list.isEmpty ? nil : try Self.policy(list)
        }

        private static func policy(_ list: [UInt8]) throws(BiometricError) -> PCRPolicy {
            guard list.count.isMultiple(of: 33) else { throw damaged }
            let values = stride(from: 0, to: list.count, by: 33).map {
                (register: Int(list[$0]), value: Array(list[$0 + 1..<$0 + 33]))
            }
            let registers = values.map(\.register)
            guard registers.allSatisfy(PCRPolicy.registers.contains), registers == Set(registers).sorted() else {
                throw damaged
            }
            return PCRPolicy(values: values)
        }
    }
#endif
