#if PKCS11
    internal import CPKCS11
    internal import Foundation
    internal import VaultBiometric

    /// A PKCS#11 URI (RFC 7512), which selects tokens, and a key on them.
    ///
    /// A PIN in it is ignored, as it was visible on its way here.
    final class TokenURI {
        private let p11kit: LibP11Kit
        private let uri: OpaquePointer

        /// - Throws: `failed` if it is not such a URI, or has an unknown attribute. The error does not show the URI, as
        ///   a PIN may be in it.
        init(_ text: String) throws {
            (p11kit, uri) = try TokenURI.empty()
            let result = p11kit.p11_kit_uri_parse(text, P11_KIT_URI_FOR_ANY, uri)
            guard result == 0 else {
                throw BiometricError(
                    .failed,
                    "The token's address is not a PKCS#11 URI. Write it like this: pkcs11:token=label;object=key")
            }
            guard p11kit.p11_kit_uri_any_unrecognized(uri) == 0 else {
                throw BiometricError(
                    .failed, "The token's PKCS#11 URI has an attribute that is not in RFC 7512. Remove it.")
            }
        }

        init(naming info: CK_TOKEN_INFO) throws {
            (p11kit, uri) = try TokenURI.empty()
            p11kit.p11_kit_uri_get_token_info(uri)?.pointee = info
        }

        private static func empty() throws(BiometricError) -> (LibP11Kit, OpaquePointer) {
            let p11kit = try LibP11Kit.open()
            guard let uri = p11kit.p11_kit_uri_new() else {
                throw BiometricError(.failed, "There is not enough memory.")
            }
            return (p11kit, uri)
        }

        deinit { p11kit.p11_kit_uri_free(uri) }

        var text: String {
            var formatted: UnsafeMutablePointer<CChar>?
            guard p11kit.p11_kit_uri_format(uri, P11_KIT_URI_FOR_TOKEN, &formatted) == 0, let formatted else {
                return "pkcs11:"
            }
            defer { free(formatted) }
            return String(cString: formatted)
        }

        /// The library to use instead of p11-kit's modules (`module-path`).
        var modulePath: String? { p11kit.p11_kit_uri_get_module_path(uri).map { String(cString: $0) } }

        /// The only p11-kit module to use (`module-name`).
        var moduleName: String? { p11kit.p11_kit_uri_get_module_name(uri).map { String(cString: $0) } }

        /// `id`: the CKA_ID of the key.
        var keyID: [UInt8]? { attribute(CKA_ID) }

        /// `object`: the CKA_LABEL of the key.
        var keyLabel: [UInt8]? { attribute(CKA_LABEL) }

        private func attribute(_ type: CK_ATTRIBUTE_TYPE) -> [UInt8]? {
            // p11-kit read the value from the URI, which is shorter than this limit.
            guard let found = p11kit.p11_kit_uri_get_attribute(uri, type)?.pointee, found.ulValueLen < 1 << 20 else {
                return nil
            }
            return Array(UnsafeRawBufferPointer(start: found.pValue, count: Int(found.ulValueLen)))
        }

        func matches(_ info: inout CK_INFO) -> Bool { p11kit.p11_kit_uri_match_module_info(uri, &info) == 1 }

        func matches(slot: CK_SLOT_ID, _ info: inout CK_SLOT_INFO) -> Bool {
            let wanted = p11kit.p11_kit_uri_get_slot_id(uri)
            return (wanted == .max || wanted == slot) && p11kit.p11_kit_uri_match_slot_info(uri, &info) == 1
        }

        func matches(_ info: inout CK_TOKEN_INFO) -> Bool { p11kit.p11_kit_uri_match_token_info(uri, &info) == 1 }
    }
#endif
