#if TPM2
    internal import CTPM2
    internal import Foundation

    /// A C structure for a secret: outside the stack, zero at the start, wiped at the end.
    struct WipedStructure<Structure>: ~Copyable {
        let pointer: UnsafeMutablePointer<Structure>
        private let size = MemoryLayout<Structure>.size

        init() {
            pointer = .allocate(capacity: 1)
            explicit_bzero(pointer, size)
        }

        deinit {
            explicit_bzero(pointer, size)
            pointer.deallocate()
        }
    }

    /// An answer in memory from ESYS, wiped and freed at the end.
    struct Allocated<Structure>: ~Copyable {
        let pointer: UnsafeMutablePointer<Structure>
        private let tss2: LibTSS2

        /// - Throws: if there is no answer, which must not happen after a success.
        init(
            _ pointer: UnsafeMutablePointer<Structure>?, of command: TPMCommand, _ tss2: LibTSS2
        ) throws(TPMFailure) {
            guard let pointer else { throw TPMFailure(code: TPMFailure.noMemory, during: command) }
            self.pointer = pointer
            self.tss2 = tss2
        }

        deinit {
            explicit_bzero(pointer, MemoryLayout<Structure>.size)
            tss2.Esys_Free(pointer)
        }
    }

    /// The wire format of TPM structures (TPM 2.0 Library, part 1, section "Marshaling").
    enum Wire {
        typealias Writer<Structure> = (
            UnsafePointer<Structure>?, UnsafeMutablePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?
        ) -> TSS2_RC
        typealias Reader<Structure> = (
            UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Structure>?
        ) -> TSS2_RC

        static func bytes<Structure>(
            _ structure: UnsafePointer<Structure>, _ write: Writer<Structure>
        ) throws(TPMFailure) -> [UInt8] {
            // A marshaled structure is never larger than in memory.
            var buffer = [UInt8](repeating: 0, count: MemoryLayout<Structure>.size)
            var end = 0
            try TPMFailure.check(write(structure, &buffer, buffer.count, &end), .preparing)
            return Array(buffer[..<end])
        }

        /// - Returns: nil if the bytes are not exactly one such structure.
        static func structure<Structure>(
            _ bytes: [UInt8], into structure: UnsafeMutablePointer<Structure>, _ read: Reader<Structure>
        ) -> Bool {
            var end = 0
            return read(bytes, bytes.count, &end, structure) == TSS2_RC_SUCCESS && end == bytes.count
        }
    }
#endif
