#if TPM2
    internal import CTPM2

    /// The means of authorization of a session.
    enum SessionKind {
        /// The authorization value.
        case authorized
        /// The policy of the object.
        case policy

        fileprivate var type: TPM2_SE { self == .policy ? TPM2_SE_POLICY : TPM2_SE_HMAC }
    }

    extension TPMConnection {
        /// Starts a session with encrypted secrets in both directions (AES-128-CFB).
        ///
        /// Its key comes from a salt that only the TPM, with the storage key's private part, can read. A listener on
        /// the bus learns nothing, and changes are noticed (TPM 2.0 Library, part 1, section "Session-Based
        /// Authorizations"). The session is not bound to an object, as that would add nothing: the authorization value
        /// of the sealed object is part of the command's keys.
        func startSession(_ kind: SessionKind, encryptedTo key: borrowing StorageKey) throws -> TPMObject {
            var symmetric = TPMT_SYM_DEF()
            symmetric.algorithm = TPM2_ALG_AES
            symmetric.keyBits.aes = 128
            symmetric.mode.aes = TPM2_ALG_CFB
            var handle: ESYS_TR = ESYS_TR_NONE
            try send(.startingSession) {
                tss2.Esys_StartAuthSession(
                    $0, key.object.handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, nil, kind.type,
                    &symmetric, TPM2_ALG_SHA256, &handle)
            }
            let session = TPMObject(handle, of: self)
            let attributes = TPMA_SESSION_CONTINUESESSION | TPMA_SESSION_DECRYPT | TPMA_SESSION_ENCRYPT
            try prepare { tss2.Esys_TRSess_SetAttributes($0, session.handle, attributes, 0xFF) }
            return session
        }

        /// Shows the TPM that its registers have the values of the policy, and makes the PIN required, too.
        func fulfil(_ policy: PCRPolicy, in session: borrowing TPMObject) throws {
            var selection = policy.selection
            var current = TPM2B_DIGEST()
            try send(.checkingPCRs) {
                tss2.Esys_PolicyPCR($0, session.handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &current, &selection)
            }
            try send(.checkingPCRs) {
                tss2.Esys_PolicyAuthValue($0, session.handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE)
            }
        }
    }
#endif
