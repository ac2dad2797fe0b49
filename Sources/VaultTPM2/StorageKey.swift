#if TPM2
    internal import CTPM2
    internal import Crypto
    internal import VaultBiometric

    /// The key of the TPM's owner that protects stored objects and encrypts the sessions.
    struct StorageKey: ~Copyable {
        let object: TPMObject
        /// The digest of its public area, which identifies the key. Another TPM has another name, and so has this TPM
        /// after a clear.
        let name: [UInt8]

        /// The usual place of the owner's key (TCG TPM v2.0 Provisioning Guidance, section 7.8).
        static let persistentHandle: TPM2_HANDLE = 0x8100_0001

        /// The attributes of every storage key: unknown outside this TPM, a parent of others, used without a password.
        private static let requiredAttributes: TPMA_OBJECT =
            TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN
            | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT

        /// The key on the curve P-256 of TCG TPM v2.0 Provisioning Guidance, section 7.5.1, and TCG EK Credential
        /// Profile, template L-2. A TPM always derives the same key from it, until it is cleared.
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

        /// Whether an existing key is usable.
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
        ///   - enrolled: the required name; nil for any.
        ///   - saved: the result of ``save(_:)`` for this key, if there is one.
        /// - Throws: `hardwareReplaced` if this TPM has no storage root key of that name.
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
                // The owner's password prevents the derivation, and the existing key is another one.
            }
            throw BiometricError(
                .hardwareReplaced,
                "This is another TPM than the enrolled one, or it was cleared. Log in with another method, then enrol "
                    + "it again.")
        }

        /// Returns the owner's key at the usual place; nil if there is no usable one.
        private func persistentStorageKey() throws -> StorageKey? {
            var handle: ESYS_TR = ESYS_TR_NONE
            do {
                try send(.findingStorageKey) {
                    tss2.Esys_TR_FromTPMPublic(
                        $0, StorageKey.persistentHandle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &handle)
                }
            } catch let failure as TPMFailure where failure.response == .handle {
                return nil
            }
            let object = TPMObject(handle, of: self, isPersistent: true)
            guard let name = try name(of: object) else { return nil }
            return StorageKey(object: object, name: name)
        }

        /// Lets the TPM encrypt a derived key for itself, for loading it later. Another derivation takes hardware some
        /// tenths of a second.
        ///
        /// - Returns: nil for a key that was not derived, or if the TPM refuses.
        func save(_ key: borrowing StorageKey) throws -> [UInt8]? {
            if key.object.isPersistent { return nil }
            var pointer: UnsafeMutablePointer<TPMS_CONTEXT>?
            do {
                try send(.savingStorageKey) { tss2.Esys_ContextSave($0, key.object.handle, &pointer) }
                let context = try Allocated(pointer, of: .savingStorageKey, tss2)
                return try Wire.bytes(context.pointer, tss2.Tss2_MU_TPMS_CONTEXT_Marshal)
            } catch let failure as TPMFailure where failure.isAnswer {
                return nil
            }
        }

        /// - Returns: nil if the TPM refuses it, for example after a reset.
        private func restoredStorageKey(_ saved: [UInt8]) throws -> StorageKey? {
            let context = WipedStructure<TPMS_CONTEXT>()
            guard Wire.structure(saved, into: context.pointer, tss2.Tss2_MU_TPMS_CONTEXT_Unmarshal) else { return nil }
            var handle: ESYS_TR = ESYS_TR_NONE
            do {
                try send(.loadingStorageKey) { tss2.Esys_ContextLoad($0, context.pointer, &handle) }
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
                tss2.Esys_CreatePrimary(
                    $0, ESYS_TR_RH_OWNER, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, &sensitive, &template,
                    &outsideInfo, &creationPCRs, &handle, nil, nil, nil, nil)
            }
            let object = TPMObject(handle, of: self)
            guard let name = try name(of: object) else {
                throw BiometricError(.failed, "The TPM derived a key of the wrong kind.")
            }
            return StorageKey(object: object, name: name)
        }

        /// Returns the name of the key that ESYS will encrypt to. Somebody on the bus may have changed the name that
        /// ESYS got, so it is computed from ESYS's public area. ESYS gives that only in its own form: handle, name,
        /// type and public area.
        ///
        /// - Returns: nil if the key is not usable.
        private func name(of object: borrowing TPMObject) throws -> [UInt8]? {
            var pointer: UnsafeMutablePointer<UInt8>?
            var size = 0
            try prepare { tss2.Esys_TR_Serialize($0, object.handle, &pointer, &size) }
            let bytes = Array(UnsafeBufferPointer(start: pointer, count: size))
            tss2.Esys_Free(pointer)
            guard bytes.count > 6 else { return nil }
            let start = 4 + 2 + (Int(bytes[4]) << 8 | Int(bytes[5])) + 4
            guard bytes.count > start + 2 else { return nil }
            let area = WipedStructure<TPM2B_PUBLIC>()
            guard
                Wire.structure(Array(bytes[start...]), into: area.pointer, tss2.Tss2_MU_TPM2B_PUBLIC_Unmarshal),
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
