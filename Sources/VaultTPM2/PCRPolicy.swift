#if TPM2
    internal import CTPM2
    internal import Crypto
    internal import VaultBiometric

    /// The state of the machine in which the TPM unseals: the values of some platform configuration registers (PCRs).
    /// Firmware, boot loader and kernel measure the programs that they start into these registers.
    struct PCRPolicy: Sendable {
        /// The registers in ascending order, each with its required value: 32 bytes of the SHA-256 bank.
        let values: [(register: Int, value: [UInt8])]

        /// The numbers of all registers.
        static let registers = 0...23
        /// The size in bytes of a selection with one bit per register.
        private static let selectionSize = 3

        static func selection(of registers: some Sequence<Int>) -> TPML_PCR_SELECTION {
            var selection = TPML_PCR_SELECTION()
            selection.count = 1
            withUnsafeMutableBytes(of: &selection.pcrSelections) { bytes in
                let first = bytes.bindMemory(to: TPMS_PCR_SELECTION.self)
                first[0].hash = TPM2_ALG_SHA256
                first[0].sizeofSelect = UInt8(selectionSize)
                withUnsafeMutableBytes(of: &first[0].pcrSelect) { bits in
                    for register in registers { bits[register / 8] |= 1 << (register % 8) }
                }
            }
            return selection
        }

        var selection: TPML_PCR_SELECTION { Self.selection(of: values.map(\.register)) }

        /// Computes the TPM's digest of the policy "these PCRs have these values, and the PIN is right" (TPM 2.0
        /// Library, part 3, sections "TPM2_PolicyPCR" and "TPM2_PolicyAuthValue").
        func digest(_ tss2: LibTSS2) throws -> [UInt8] {
            var selection = selection
            let selected = try Wire.bytes(&selection, tss2.Tss2_MU_TPML_PCR_SELECTION_Marshal)
            let state = SHA256.hash(data: values.flatMap(\.value))
            let start = [UInt8](repeating: 0, count: SHA256.byteCount)
            let pcrs = SHA256.hash(data: start + Self.code(TPM2_CC_PolicyPCR) + selected + Array(state))
            return Array(SHA256.hash(data: Array(pcrs) + Self.code(TPM2_CC_PolicyAuthValue)))
        }

        private static func code(_ command: TPM2_CC) -> [UInt8] {
            withUnsafeBytes(of: command.bigEndian) { Array($0) }
        }

        /// Returns the error if the registers have other values now.
        func change(to now: PCRPolicy) -> BiometricError? {
            let changed = zip(values, now.values).filter { $0.value != $1.value }.map(\.0.register)
            if changed.isEmpty { return nil }
            let names = changed.map { register in
                Self.meanings[register].map { "\(register) (\($0))" } ?? "\(register)"
            }
            return BiometricError(
                .failed,
                "The TPM does not open this, because the machine started differently than at enrolment: PCR "
                    + names.joined(separator: ", ")
                    + " changed. Log in with another method. If you made the change, enrol the "
                    + "TPM again.")
        }

        /// The usual content of the registers (UAPI Group, Linux TPM PCR Registry).
        private static let meanings = [
            0: "firmware", 1: "firmware settings", 2: "firmware extensions", 3: "settings of firmware extensions",
            4: "boot loader", 5: "partition table", 7: "Secure Boot", 8: "boot loader commands",
            9: "kernel and initrd", 10: "files measured by the kernel", 11: "kernel image", 12: "kernel command line",
            13: "system extensions", 14: "machine owner keys", 15: "disk encryption keys", 23: "application",
        ]
    }

    extension TPMConnection {
        /// Returns the policy that is fulfilled now.
        ///
        /// - Parameter registers: the registers in ascending order, none twice.
        func pcrPolicy(of registers: [Int]) throws -> PCRPolicy {
            var values: [(register: Int, value: [UInt8])] = []
            while values.count < registers.count {
                // The TPM decides how many it returns at a time, the lowest first.
                let missing = registers[values.count...]
                let read = try readPCRs(missing)
                if read.isEmpty || read.count > missing.count {
                    throw BiometricError(.unavailable, "The TPM has no PCR \(missing.first ?? 0) in its SHA-256 bank.")
                }
                values += zip(missing, read).map { (register: $0, value: $1) }
            }
            return PCRPolicy(values: values)
        }

        /// Returns the error if the registers of a policy have other values now; nil without a policy.
        func change(since policy: PCRPolicy?) throws -> BiometricError? {
            guard let policy else { return nil }
            return policy.change(to: try pcrPolicy(of: policy.values.map(\.register)))
        }

        private func readPCRs(_ registers: some Sequence<Int>) throws -> [[UInt8]] {
            var selection = PCRPolicy.selection(of: registers)
            var updates: UInt32 = 0
            var pointer: UnsafeMutablePointer<TPML_DIGEST>?
            try send(.readingPCRs) {
                tss2.Esys_PCR_Read(
                    $0, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &selection, &updates, nil, &pointer)
            }
            let answer = try Allocated(pointer, of: .readingPCRs, tss2)
            let digests = answer.pointer.pointee
            return withUnsafeBytes(of: digests.digests) { bytes in
                bytes.bindMemory(to: TPM2B_DIGEST.self).prefix(Int(digests.count)).map { digest in
                    withUnsafeBytes(of: digest.buffer) { Array($0.prefix(Int(digest.size))) }
                }
            }
        }
    }
#endif
