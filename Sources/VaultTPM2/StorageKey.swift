#if TPM2
    internal import CTPM2
    internal import Crypto
    internal import VaultBiometric

    /// The key of the TPM's owner under which other things are stored, and to which the sessions are encrypted.
    struct StorageKey: ~Copyable {
        let object: TPMObject
        /// The digest of its public area, by which it is known again: another TPM has another one, and so has this TPM
        /// after it was cleared.
        let name: [UInt8]

        /// Where the owner keeps it (TCG TPM v2.0 Provisioning Guidance, section 7.8).
        static let persistentHandle: TPM2_HANDLE = 0x8100_0001

        /// What every storage key is: not known outside this TPM, a parent of others, used without a password.
        private static let requiredAttributes: TPMA_OBJECT =
            TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN
            | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT

        /// The key on the curve P-256 of TCG TPM v2.0 Provisioning Guidance, section 7.5.1, and TCG EK Credential
        /// Profile, template L-2. From it a TPM derives always the same key, until it is cleared.
        static var template: TPM2B_PUBLIC {
            var template = TPM2B_PUBLIC()
            template.publicArea.type = TPM2_ALG_ECC
            template.publicArea.nameAlg = TPM2_ALG_SHA256
            template.publicArea.objectAttributes = requiredAttributes | TPMA_OBJECT_NODA
            template.publicArea.parameters.eccDetail.symmetric.algorithm = TPM2_ALG_AES
            template.publicArea.parameters.eccDetail.symmetric.keyBits.aes = 128
            template.publicArea.parameters.eccDetail.symmetric.mode.aes = TPM2_ALG_CFB
            template.publicArea.parameters.eccDetail.scheme.scheme = TPM2_ALG_NULL
            template.publicArea.parameters.eccDetail.curveID = TPM2_ECC_NIST_P256
            template.publicArea.parameters.eccDetail.kdf.scheme = TPM2_ALG_NULL
            template.publicArea.unique.ecc.x.size = 32
            template.publicArea.unique.ecc.y.size = 32
            return template
        }

        /// Whether a key that somebody put there serves.
        static func fits(_ area: TPMT_PUBLIC) -> Bool {
            area.type == TPM2_ALG_ECC && area.nameAlg == TPM2_ALG_SHA256
                && area.objectAttributes & (requiredAttributes | TPMA_OBJECT_SIGN_ENCRYPT) == requiredAttributes
                && area.parameters.eccDetail.curveID == TPM2_ECC_NIST_P256
                && area.parameters.eccDetail.symmetric.algorithm == TPM2_ALG_AES
        }
    }

    extension TPMConnection {
        /// Finds the storage root key, or derives it.
        ///
        /// - Parameters:
        ///   - enrolled: the name that it must have; nil for any.
        ///   - saved: what ``save(_:)`` returned for it, if that was done.
        /// - Throws: `hardwareReplaced` when this TPM has no storage root key of that name.
        func storageKey(named enrolled: [UInt8]? = nil, saved: [UInt8]? = nil) throws -> StorageKey {
            if let saved, let key = try restoredStorageKey(saved), key.name == enrolled { return key }
            let persistent = try persistentStorageKey()
            let hasPersistent = persistent != nil
            if let persistent, enrolled == nil || persistent.name == enrolled { return persistent }
            do {
                let derived = try derivedStorageKey()
                if enrolled == nil || derived.name == enrolled { return derived }
            } catch let failure as TPMFailure
                where hasPersistent && failure.response == .wrongAuthorizationUncounted
            {
                // The owner's password keeps from deriving one, and the one that is there is another.
            }
            throw BiometricError(
                .hardwareReplaced,
                "This is another TPM than the one that was enrolled, or it was cleared. Sign in another way, then enrol "
                    + "it anew.")
        }

        /// What the owner put at the usual place; nil when there is nothing, or something that does not serve.
        private func persistentStorageKey() throws -> StorageKey? {
            var handle: ESYS_TR = ESYS_TR_NONE
            do {
                try send(.findingStorageKey) {
                    Esys_TR_FromTPMPublic(
                        $0, StorageKey.persistentHandle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &handle)
                }
            } catch let failure as TPMFailure where failure.response == .handle {
                return nil
            }
            let object = TPMObject(handle, of: self, isPersistent: true)
            guard let name = try name(of: object) else { return nil }
            return StorageKey(object: object, name: name)
        }

        /// Has the TPM encrypt a derived key for itself, to be loaded again: deriving it anew takes a piece of hardware some
        /// tenths of a second.
        ///
        /// - Returns: nil for a key that need not be derived, and when the TPM does not do it.
        func save(_ key: borrowing StorageKey) throws -> [UInt8]? {
            if key.object.isPersistent { return nil }
            var pointer: UnsafeMutablePointer<TPMS_CONTEXT>?
            do {
                try send(.savingStorageKey) { Esys_ContextSave($0, key.object.handle, &pointer) }
                let context = try Allocated(pointer, of: .savingStorageKey)
                return try Wire.bytes(context.pointer, Tss2_MU_TPMS_CONTEXT_Marshal)
            } catch let failure as TPMFailure where failure.isAnswer {
                return nil
            }
        }

        /// - Returns: nil when the TPM does not take it any more, as after it was reset.
        private func restoredStorageKey(_ saved: [UInt8]) throws -> StorageKey? {
            let context = WipedStructure<TPMS_CONTEXT>()
            guard Wire.structure(saved, into: context.pointer, Tss2_MU_TPMS_CONTEXT_Unmarshal) else { return nil }
            var handle: ESYS_TR = ESYS_TR_NONE
            do {
                try send(.loadingStorageKey) { Esys_ContextLoad($0, context.pointer, &handle) }
            } catch let failure as TPMFailure where failure.isAnswer {
                return nil
            }
            let object = TPMObject(handle, of: self)
            guard let name = try name(of: object) else { return nil }
            return StorageKey(object: object, name: name)
        }

        private func derivedStorageKey() throws -> StorageKey {
            var template = StorageKey.template
            var sensitive = TPM2B_SENSITIVE_CREATE()
            var outsideInfo = TPM2B_DATA()
            var creationPCRs = TPML_PCR_SELECTION()
            var handle: ESYS_TR = ESYS_TR_NONE
            try send(.makingStorageKey) {
                Esys_CreatePrimary(
                    $0, ESYS_TR_RH_OWNER, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, &sensitive, &template,
                    &outsideInfo, &creationPCRs, &handle, nil, nil, nil, nil)
            }
            let object = TPMObject(handle, of: self)
            guard let name = try name(of: object) else {
                throw BiometricError(.failed, "The TPM derived another kind of key than it was asked for.")
            }
            return StorageKey(object: object, name: name)
        }

        /// The name of the key that ESYS will encrypt to. ESYS may believe what came over the bus, so the name is computed
        /// from the public area that it holds, which it gives only inside its own form of an object: handle, name, type
        /// and public area.
        ///
        /// - Returns: nil when the key does not serve.
        private func name(of object: borrowing TPMObject) throws -> [UInt8]? {
            var pointer: UnsafeMutablePointer<UInt8>?
            var size = 0
            try prepare { Esys_TR_Serialize($0, object.handle, &pointer, &size) }
            let bytes = Array(UnsafeBufferPointer(start: pointer, count: size))
            Esys_Free(pointer)
            guard bytes.count > 6 else { return nil }
            let start = 4 + 2 + (Int(bytes[4]) << 8 | Int(bytes[5])) + 4
            guard bytes.count > start + 2 else { return nil }
            let area = WipedStructure<TPM2B_PUBLIC>()
            guard
                Wire.structure(Array(bytes[start...]), into: area.pointer, Tss2_MU_TPM2B_PUBLIC_Unmarshal),
                StorageKey.fits(area.pointer.pointee.publicArea)
            else { return nil }
            return TPMName.of(publicArea: bytes[(start + 2)...])
        }
    }

    /// The name of an object (TPM 2.0 Library, part 1, section "Names").
    enum TPMName {
        static let size = 2 + SHA256.byteCount

        static func of(publicArea: ArraySlice<UInt8>) -> [UInt8] {
            withUnsafeBytes(of: UInt16(TPM2_ALG_SHA256).bigEndian) { Array($0) }
                + Array(SHA256.hash(data: publicArea))
        }
    }
#endif
