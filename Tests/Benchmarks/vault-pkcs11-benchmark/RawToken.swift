#if PKCS11
    internal import CPKCS11
    internal import Foundation
    internal import VaultBase
    internal import VaultBiometric

    /// The provider's work with only the calls that decryption needs. No program that finds the token by its serial
    /// number and the key by its id can do less. It does not check the key, does not check the token again before it
    /// sends the PIN, and has no time limit.
    final class RawToken {
        private let p11kit: LibP11Kit
        private let functions: UnsafeMutablePointer<CK_FUNCTION_LIST>
        private var session: CK_SESSION_HANDLE = 0
        private var key: CK_OBJECT_HANDLE = 0
        private let hash: (CK_MECHANISM_TYPE, CK_RSA_PKCS_MGF_TYPE)

        private var call: CK_FUNCTION_LIST { functions.pointee }

        /// Loads the module and starts it.
        init(module: String, usesSHA256: Bool) throws {
            p11kit = try SharedLibrary(["libp11-kit.so.0"], packages: []).functions(LibP11Kit_find)
            guard let functions = p11kit.p11_kit_module_load(module, 0) else {
                throw BiometricError(.unavailable, "No module.")
            }
            self.functions = functions
            hash = usesSHA256 ? (CKM_SHA256, CKG_MGF1_SHA256) : (CKM_SHA_1, CKG_MGF1_SHA1)
            try check(p11kit.p11_kit_module_initialize(functions))
        }

        deinit {
            _ = p11kit.p11_kit_module_finalize(functions)
            p11kit.p11_kit_module_release(functions)
        }

        private func check(_ code: CK_RV?) throws {
            guard code == CKR_OK else { throw BiometricError(.failed, "A call failed with \(code ?? 0).") }
        }

        /// Logs in at the token, and finds the key with the id 1.
        func logIn(_ pin: String, serial: [UInt8]) throws {
            var count: CK_ULONG = 0
            try check(call.C_GetSlotList?(1, nil, &count))
            var slots = [CK_SLOT_ID](repeating: 0, count: Int(count))
            try check(call.C_GetSlotList?(1, &slots, &count))
            var info = CK_TOKEN_INFO()
            guard
                let slot = try slots.first(where: { slot in
                    try check(call.C_GetTokenInfo?(slot, &info))
                    return withUnsafeBytes(of: info.serialNumber) { $0.starts(with: serial) }
                })
            else { throw BiometricError(.hardwareMissing, "No token.") }
            try check(call.C_OpenSession?(slot, CKF_SERIAL_SESSION, nil, nil, &session))
            var bytes = Array(pin.utf8)
            try check(call.C_Login?(session, CKU_USER, &bytes, CK_ULONG(bytes.count)))
            var (kind, id) = (CKO_PRIVATE_KEY, UInt8(1))
            try withUnsafeMutablePointer(to: &kind) { kind in
                try withUnsafeMutablePointer(to: &id) { id in
                    var template = [
                        CK_ATTRIBUTE(type: CKA_CLASS, pValue: kind, ulValueLen: CK_ULONG(MemoryLayout<CK_ULONG>.size)),
                        CK_ATTRIBUTE(type: CKA_ID, pValue: id, ulValueLen: 1),
                    ]
                    try check(call.C_FindObjectsInit?(session, &template, 2))
                }
            }
            try check(call.C_FindObjects?(session, &key, 1, &count))
            try check(call.C_FindObjectsFinal?(session))
        }

        func decrypt(_ message: [UInt8]) throws {
            var parameters = CK_RSA_PKCS_OAEP_PARAMS()
            (parameters.hashAlg, parameters.mgf, parameters.source) = (hash.0, hash.1, 1)
            var message = message
            var (output, count) = ([UInt8](repeating: 0, count: 512), CK_ULONG(512))
            try withUnsafeMutablePointer(to: &parameters) {
                var mechanism = CK_MECHANISM(
                    mechanism: CKM_RSA_PKCS_OAEP, pParameter: $0,
                    ulParameterLen: CK_ULONG(MemoryLayout<CK_RSA_PKCS_OAEP_PARAMS>.size))
                try check(call.C_DecryptInit?(session, &mechanism, key))
            }
            try check(call.C_Decrypt?(session, &message, CK_ULONG(message.count), &output, &count))
            guard count == 32 else { throw BiometricError(.failed, "That is no key.") }
        }

        func logOut() throws {
            try check(call.C_Logout?(session))
            try check(call.C_CloseSession?(session))
        }
    }
#endif
