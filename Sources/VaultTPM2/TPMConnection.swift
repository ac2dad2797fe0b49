#if TPM2
    internal import CTPM2
    internal import Foundation
    internal import VaultBiometric
    internal import VaultCrypto

    /// A conversation with a TPM, for one thread.
    ///
    /// Neither it nor what it allocates in the TPM outlives the operation that it was made for: another program may want
    /// the TPM, and nobody is hurt when the machine sleeps, or the TPM is reset, while a person types a PIN.
    final class TPMConnection {
        private let tcti: OpaquePointer
        private let esys: OpaquePointer
        private let isGivenUp: @Sendable () -> Bool

        /// Connects. Nothing is sent to the TPM yet, apart from what the transmission interface does by itself.
        ///
        /// - Parameters:
        ///   - name: the transmission interface and its settings, as in ``TPM2Provider/init(tcti:pcrs:timeLimit:clock:)``.
        ///   - isGivenUp: whether nobody waits any more.
        init(_ name: String, isGivenUp: @escaping @Sendable () -> Bool = { false }) throws {
            try TPMDevice(name)?.checkUsable()
            var tcti: OpaquePointer?
            let connected = Tss2_TctiLdr_Initialize(name, &tcti)
            if TPMFailure.isUnknownInterface(connected) {
                throw BiometricError(
                    .unavailable,
                    "The library that reaches a TPM by \"\(name)\" is not installed, or there is none of that name "
                        + "(libtss2-tcti-device0 for a device, in Debian).")
            }
            try TPMFailure.check(connected, .connecting)
            guard let tcti else { throw TPMFailure(code: TPMFailure.noMemory, during: .connecting) }
            var esys: OpaquePointer?
            let code = Esys_Initialize(&esys, tcti, nil)
            guard code == TSS2_RC_SUCCESS, let esys else {
                var lost: OpaquePointer? = tcti
                Tss2_TctiLdr_Finalize(&lost)
                throw TPMFailure(code: code, during: .connecting)
            }
            self.tcti = tcti
            self.esys = esys
            self.isGivenUp = isGivenUp
        }

        deinit {
            var esys: OpaquePointer? = esys
            Esys_Finalize(&esys)
            var tcti: OpaquePointer? = tcti
            Tss2_TctiLdr_Finalize(&tcti)
        }

        /// Has the TPM do something.
        ///
        /// - Throws: ``TPMFailure``; `CancellationError` when nobody waits any more.
        func send(_ command: TPMCommand, _ body: (OpaquePointer) -> TSS2_RC) throws {
            if isGivenUp() { throw CancellationError() }
            try TPMFailure.check(body(esys), command)
        }

        /// Tells ESYS something, which stays there.
        func prepare(_ body: (OpaquePointer) -> TSS2_RC) throws(TPMFailure) {
            try TPMFailure.check(body(esys), .preparing)
        }

        /// Frees an object or a session in the TPM and in ESYS. A TPM that is gone holds nothing either, so what fails
        /// here is of no consequence.
        fileprivate func release(_ handle: ESYS_TR) {
            var handle = handle
            let code = Esys_FlushContext(esys, handle)
            if code == TSS2_RC_SUCCESS { return }
            // After a fault in an answer ESYS (layer 7) itself refuses to send anything. The layer below it does not.
            var tpmHandle: TPM2_HANDLE = 0
            var system: OpaquePointer?
            if code >> 16 == 7, Esys_TR_GetTpmHandle(esys, handle, &tpmHandle) == TSS2_RC_SUCCESS,
                Esys_GetSysContext(esys, &system) == TSS2_RC_SUCCESS
            {
                _ = Tss2_Sys_FlushContext(system, tpmHandle)
            }
            _ = Esys_TR_Close(esys, &handle)
        }

        /// Forgets an object of which the TPM keeps more than this.
        fileprivate func close(_ handle: ESYS_TR) {
            var handle = handle
            _ = Esys_TR_Close(esys, &handle)
        }
    }

    /// An object or a session in the TPM, which it has few places for.
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
