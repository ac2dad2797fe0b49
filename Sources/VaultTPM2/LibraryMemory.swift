#if TPM2
    internal import CTPM2
    internal import Foundation
    internal import VaultCrypto

    /// The copies of secrets that ESYS makes for itself and frees without wiping.
    enum LibraryMemory {
        /// Overwrites the copies of a secret in the context, in the buffer of the layer below, and in what ESYS remembers
        /// of the session of this handle: its key and the authorization value.
        ///
        /// The structures are the library's own, so this looks for the bytes, and only in blocks of memory that belong to
        /// this context for certain: somebody else may use the same PIN at the same time. Where there are none, nothing
        /// is changed.
        static func wipe(_ secret: borrowing SecretBytes, of esys: OpaquePointer, session handle: ESYS_TR) {
            // Fewer bytes could be something else.
            guard secret.count >= 16 else { return }
            let context = block(UnsafeMutableRawPointer(esys))
            overwrite(secret, in: context)
            var system: OpaquePointer?
            if Esys_GetSysContext(esys, &system) == TSS2_RC_SUCCESS, let system {
                overwrite(secret, in: block(UnsafeMutableRawPointer(system)))
            }
            for word in context.bindMemory(to: UInt.self) {
                if let session = session(at: word, handle) { overwrite(secret, in: session) }
            }
        }

        private static func block(_ start: UnsafeMutableRawPointer) -> UnsafeMutableRawBufferPointer {
            UnsafeMutableRawBufferPointer(start: start, count: malloc_usable_size(start))
        }

        /// What ESYS remembers of a session begins with its handle, which ESYS counts from a random number on.
        ///
        /// - Parameter word: may be the address of that or anything else, so the kernel is asked to read there.
        private static func session(at word: UInt, _ handle: ESYS_TR) -> UnsafeMutableRawBufferPointer? {
            // Blocks of memory are aligned so, and the upper half of all addresses is the kernel's.
            guard word & 15 == 0, word > 0xFFFF, word < 1 << 63, let start = UnsafeMutableRawPointer(bitPattern: word)
            else { return nil }
            var first: ESYS_TR = 0
            let size = MemoryLayout<ESYS_TR>.size
            guard tpm2_read_memory(&first, Int(bitPattern: word), size) == size, first == handle else { return nil }
            return block(start)
        }

        private static func overwrite(_ secret: borrowing SecretBytes, in block: UnsafeMutableRawBufferPointer) {
            secret.withUnsafeBytes { secret in
                // An all-zero one would be found for ever, and is none.
                guard let wanted = secret.baseAddress, let start = block.baseAddress,
                    secret.contains(where: { $0 != 0 })
                else { return }
                while let found = memmem(start, block.count, wanted, secret.count) {
                    explicit_bzero(found, secret.count)
                }
            }
        }
    }
#endif
