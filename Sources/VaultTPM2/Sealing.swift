#if TPM2
    internal import CTPM2
    internal import VaultBiometric
    internal import VaultCrypto

    /// A secret that the TPM sealed. Only this TPM can read it.
    struct SealedObject: Sendable {
        /// The kind of the object and its rules (TPM2B_PUBLIC).
        let publicArea: [UInt8]
        /// The secret and the authorization value, encrypted by the TPM (TPM2B_PRIVATE).
        let privateArea: [UInt8]

        /// Returns the rules for a new object.
        ///
        /// The object cannot leave this TPM or get another parent. Without `noDA`, wrong PINs are counted. With a
        /// policy, the PIN alone is not enough (no `userWithAuth`). No policy allows a change of the PIN, so nobody can
        /// change it (`adminWithPolicy`).
        static func template(policy: [UInt8]?) -> TPM2B_PUBLIC {
            var template = TPM2B_PUBLIC()
            template.publicArea.type = TPM2_ALG_KEYEDHASH
            template.publicArea.nameAlg = TPM2_ALG_SHA256
            template.publicArea.objectAttributes =
                TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_ADMINWITHPOLICY
                | (policy == nil ? TPMA_OBJECT_USERWITHAUTH : 0)
            template.publicArea.parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL
            if let policy {
                template.publicArea.authPolicy.size = UInt16(policy.count)
                withUnsafeMutableBytes(of: &template.publicArea.authPolicy.buffer) { $0.copyBytes(from: policy) }
            }
            return template
        }
    }

    extension TPMConnection {
        func seal(
            _ secret: borrowing SecretBytes, auth: borrowing SecretBytes, under key: borrowing StorageKey,
            policy: PCRPolicy?
        ) throws -> SealedObject {
            var template = SealedObject.template(policy: try policy?.digest(tss2))
            let session = try startSession(.authorized, encryptedTo: key)
            let sensitive = WipedStructure<TPM2B_SENSITIVE_CREATE>()
            auth.withUnsafeBytes { auth in
                sensitive.pointer.pointee.sensitive.userAuth.size = UInt16(auth.count)
                withUnsafeMutableBytes(of: &sensitive.pointer.pointee.sensitive.userAuth.buffer) {
                    $0.copyMemory(from: auth)
                }
            }
            secret.withUnsafeBytes { secret in
                sensitive.pointer.pointee.sensitive.data.size = UInt16(secret.count)
                withUnsafeMutableBytes(of: &sensitive.pointer.pointee.sensitive.data.buffer) {
                    $0.copyMemory(from: secret)
                }
            }
            var outsideInfo = TPM2B_DATA()
            var creationPCRs = TPML_PCR_SELECTION()
            var privatePointer: UnsafeMutablePointer<TPM2B_PRIVATE>?
            var publicPointer: UnsafeMutablePointer<TPM2B_PUBLIC>?
            try send(.sealing) {
                tss2.Esys_Create(
                    $0, key.object.handle, session.handle, ESYS_TR_NONE, ESYS_TR_NONE, sensitive.pointer, &template,
                    &outsideInfo, &creationPCRs, &privatePointer, &publicPointer, nil, nil, nil)
            }
            let privateArea = try Allocated(privatePointer, of: .sealing, tss2)
            let publicArea = try Allocated(publicPointer, of: .sealing, tss2)
            return SealedObject(
                publicArea: try Wire.bytes(publicArea.pointer, tss2.Tss2_MU_TPM2B_PUBLIC_Marshal),
                privateArea: try Wire.bytes(privateArea.pointer, tss2.Tss2_MU_TPM2B_PRIVATE_Marshal))
        }

        /// Lets the TPM open a sealed secret.
        ///
        /// - Parameter policy: the registers of the enrolment.
        func unseal(
            _ sealed: SealedObject, auth: borrowing SecretBytes, under key: borrowing StorageKey, policy: PCRPolicy?
        ) throws -> SecretBytes {
            let object = try load(sealed, under: key)
            let session = try startSession(policy == nil ? .authorized : .policy, encryptedTo: key)
            if let policy { try fulfil(policy, in: session) }
            defer { forgetAuth(of: object) }
            try setAuth(auth, of: object)
            var pointer: UnsafeMutablePointer<TPM2B_SENSITIVE_DATA>?
            try send(.unsealing) {
                tss2.Esys_Unseal($0, object.handle, session.handle, ESYS_TR_NONE, ESYS_TR_NONE, &pointer)
            }
            let answer = try Allocated(pointer, of: .unsealing, tss2)
            let size = min(Int(answer.pointer.pointee.size), MemoryLayout.size(ofValue: answer.pointer.pointee.buffer))
            return try SecretBytes(count: size) { target in
                withUnsafeBytes(of: &answer.pointer.pointee.buffer) {
                    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<size]))
                }
            }
        }

        /// Loads the object without a session: the TPM encrypted all its secrets, and the storage key has no password.
        /// Later authorizations hold only for the object of this public area.
        private func load(_ sealed: SealedObject, under key: borrowing StorageKey) throws -> TPMObject {
            let publicArea = WipedStructure<TPM2B_PUBLIC>()
            let privateArea = WipedStructure<TPM2B_PRIVATE>()
            guard
                Wire.structure(sealed.publicArea, into: publicArea.pointer, tss2.Tss2_MU_TPM2B_PUBLIC_Unmarshal),
                Wire.structure(sealed.privateArea, into: privateArea.pointer, tss2.Tss2_MU_TPM2B_PRIVATE_Unmarshal)
            else { throw SealedForm.damaged }
            var handle: ESYS_TR = ESYS_TR_NONE
            try send(.loading) {
                tss2.Esys_Load(
                    $0, key.object.handle, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, privateArea.pointer,
                    publicArea.pointer, &handle)
            }
            return TPMObject(handle, of: self)
        }

        /// Gives ESYS the authorization value. ESYS computes the proofs from it.
        private func setAuth(_ auth: borrowing SecretBytes, of object: borrowing TPMObject) throws {
            let value = WipedStructure<TPM2B_AUTH>()
            auth.withUnsafeBytes { auth in
                value.pointer.pointee.size = UInt16(auth.count)
                withUnsafeMutableBytes(of: &value.pointer.pointee.buffer) { $0.copyMemory(from: auth) }
            }
            try prepare { tss2.Esys_TR_SetAuth($0, object.handle, value.pointer) }
        }

        /// Overwrites the value in ESYS. A call without a value would clear only its size.
        private func forgetAuth(of object: borrowing TPMObject) {
            let zeros = WipedStructure<TPM2B_AUTH>()
            // The call fails only for an object that ESYS does not know. Then there is no value.
            try? prepare { tss2.Esys_TR_SetAuth($0, object.handle, zeros.pointer) }
        }
    }
#endif
