#if TPM2
    internal import CTPM2
    internal import Foundation

    /// A C structure that may hold a secret: outside the stack, zero at first, wiped at the end.
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

    /// What ESYS allocated for an answer: wiped and freed at the end.
    struct Allocated<Structure>: ~Copyable {
        let pointer: UnsafeMutablePointer<Structure>

        /// - Throws: when there is none, which ESYS promises not to happen after a success.
        init(_ pointer: UnsafeMutablePointer<Structure>?, of command: TPMCommand) throws(TPMFailure) {
            guard let pointer else { throw TPMFailure(code: TPMFailure.noMemory, during: command) }
            self.pointer = pointer
        }

        deinit {
            explicit_bzero(pointer, MemoryLayout<Structure>.size)
            Esys_Free(pointer)
        }
    }

    /// Brings TPM structures into the form in which they travel (TPM 2.0 Library, part 1, section "Marshaling"), and back.
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
            // No structure is larger marshaled than it is in memory.
            var buffer = [UInt8](repeating: 0, count: MemoryLayout<Structure>.size)
            var end = 0
            try TPMFailure.check(write(structure, &buffer, buffer.count, &end), .preparing)
            return Array(buffer[..<end])
        }

        /// - Returns: nil when the bytes are not exactly one such structure.
        static func structure<Structure>(
            _ bytes: [UInt8], into structure: UnsafeMutablePointer<Structure>, _ read: Reader<Structure>
        ) -> Bool {
            var end = 0
            return read(bytes, bytes.count, &end, structure) == TSS2_RC_SUCCESS && end == bytes.count
        }
    }
#endif
