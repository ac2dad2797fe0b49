#if TPM2
    internal import CTPM2
    internal import Foundation
    internal import VaultBiometric
    internal import VaultCrypto

    /// A conversation with a TPM, for one thread.
    ///
    /// The connection and its objects in the TPM live for one operation only. So other programs can use the TPM, and
    /// sleep or a reset does no harm while a person types a PIN.
    final class TPMConnection {
        let tss2: LibTSS2
        private let tcti: OpaquePointer
        private let esys: OpaquePointer
        private let isGivenUp: @Sendable () -> Bool

        /// Connects. Only the transmission interface may send something to the TPM.
        ///
        /// - Parameters:
        ///   - name: the transmission interface and its settings, as in ``TPM2Provider/init(tcti:pcrs:timeLimit:clock:)``.
        init(_ name: String, isGivenUp: @escaping @Sendable () -> Bool = { false }) throws {
            try TPMDevice(name)?.checkUsable()
            let tss2 = try LibTSS2.open()
            var tcti: OpaquePointer?
            let connected = tss2.Tss2_TctiLdr_Initialize(name, &tcti)
            if TPMFailure.isUnknownInterface(connected) {
                throw BiometricError(
                    .unavailable,
                    "The TPM library for \"\(name)\" is not installed, or the name is wrong. For a device in Debian: "
                        + "apt install libtss2-tcti-device0")
            }
            try TPMFailure.check(connected, .connecting)
            guard let tcti else { throw TPMFailure(code: TPMFailure.noMemory, during: .connecting) }
            var esys: OpaquePointer?
            let code = tss2.Esys_Initialize(&esys, tcti, nil)
            guard code == TSS2_RC_SUCCESS, let esys else {
                var lost: OpaquePointer? = tcti
                tss2.Tss2_TctiLdr_Finalize(&lost)
                throw TPMFailure(code: code, during: .connecting)
            }
            self.tss2 = tss2
            self.tcti = tcti
            self.esys = esys
            self.isGivenUp = isGivenUp
        }

        deinit {
            var esys: OpaquePointer? = esys
            tss2.Esys_Finalize(&esys)
            var tcti: OpaquePointer? = tcti
            tss2.Tss2_TctiLdr_Finalize(&tcti)
        }

        /// Sends a command to the TPM.
        ///
        /// - Throws: ``TPMFailure``; `CancellationError` if the operation was given up.
        func send(_ command: TPMCommand, _ body: (OpaquePointer) -> TSS2_RC) throws {
            if isGivenUp() { throw CancellationError() }
            try TPMFailure.check(body(esys), command)
        }

        /// Tells ESYS something, without a command to the TPM.
        func prepare(_ body: (OpaquePointer) -> TSS2_RC) throws(TPMFailure) {
            try TPMFailure.check(body(esys), .preparing)
        }

        /// Frees an object or a session in the TPM and in ESYS. Failures do not matter: a TPM that is gone holds
        /// nothing.
        fileprivate func release(_ handle: ESYS_TR) {
            var handle = handle
            let code = tss2.Esys_FlushContext(esys, handle)
            if code == TSS2_RC_SUCCESS { return }
            // After a fault in an answer, ESYS (layer 7) refuses to send anything. The layer below it still sends.
            var tpmHandle: TPM2_HANDLE = 0
            var system: OpaquePointer?
            if code >> 16 == 7, tss2.Esys_TR_GetTpmHandle(esys, handle, &tpmHandle) == TSS2_RC_SUCCESS,
                tss2.Esys_GetSysContext(esys, &system) == TSS2_RC_SUCCESS
            {
                _ = tss2.Tss2_Sys_FlushContext(system, tpmHandle)
            }
            _ = tss2.Esys_TR_Close(esys, &handle)
        }

        /// Forgets an object that stays in the TPM.
        fileprivate func close(_ handle: ESYS_TR) {
            var handle = handle
            _ = tss2.Esys_TR_Close(esys, &handle)
        }
    }

    /// An object or a session in the TPM, which has few places for them.
    struct TPMObject: ~Copyable {
        let handle: ESYS_TR
        let connection: TPMConnection
        /// Whether it stays in the TPM.
        let isPersistent: Bool

        init(_ handle: ESYS_TR, of connection: TPMConnection, isPersistent: Bool = false) {
            self.handle = handle
            self.connection = connection
            self.isPersistent = isPersistent
        }

        deinit {
            if isPersistent { connection.close(handle) } else { connection.release(handle) }
        }
    }
#endif
