#if PKCS11
    import CPKCS11
    import VaultBase
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultPKCS11

    extension PKCS11Tests {
        @Suite("A module may answer what it likes")
        struct OddModuleTests {
            @Test(arguments: [CK_ULONG.max, CK_ULONG(Int.max), 1 << 40])
            func `when a module claims countless slots, then reading stays bounded`(_ count: CK_ULONG) throws {
                let module = OddModule(slotCount: count)
                #expect(try module.module.slots() == [7] + [CK_SLOT_ID](repeating: 0, count: 1031))
            }

            @Test(arguments: [CKR_PIN_INCORRECT, CKR_PIN_LOCKED])
            func `when one key refuses the PIN, then enrolment stops`(_ code: CK_RV) throws {
                let module = OddModule(login: code)
                let secret = SharedSecret(try SecretBytes.random(count: 32))
                let pin = SharedSecret(try SecretBytes(utf8: "4711"))
                let failure = #expect(throws: TokenFailure.self) {
                    _ = try module.session.enrol(secret, id: nil, label: nil, nil, pin)
                }
                #expect(failure?.call == .loggingIn)
                #expect(failure?.code == code)
                #expect(module.logins == 1)
            }

            @Test func `when a key knows no PIN, then it is skipped`() throws {
                let module = OddModule(login: CKR_OPERATION_NOT_INITIALIZED)
                let secret = SharedSecret(try SecretBytes.random(count: 32))
                let error = #expect(throws: BiometricError.self) {
                    _ = try module.session.enrol(secret, id: nil, label: nil, nil, nil)
                }
                #expect(error?.code == .keyMissing)
                #expect(module.logins == 2)
            }
        }
    }

    /// A module in memory, with two keys on P-256 that want the PIN each time. C functions capture nothing, so only one
    /// module can exist at a time.
    private final class OddModule {
        private struct State {
            var slotCount: CK_ULONG
            var login: CK_RV
            var logins = 0
            var unlisted: [CK_OBJECT_HANDLE] = []
        }
        private static let state = Lock(State(slotCount: 0, login: CKR_OK))
        private let functions = UnsafeMutablePointer<CK_FUNCTION_LIST>.allocate(capacity: 1)
        let module: TokenModule

        var logins: Int { Self.state.withLock { $0.logins } }
        var session: TokenSession { TokenSession(token: Token(module, 0, CK_SLOT_INFO(), CK_TOKEN_INFO()), handle: 1) }

        init(slotCount: CK_ULONG = 1, login: CK_RV = CKR_OK) {
            Self.state.withLock { $0 = State(slotCount: slotCount, login: login) }
            functions.initialize(to: CK_FUNCTION_LIST())
            module = TokenModule(functions) { false }
            functions.pointee.C_GetSlotList = { _, slots, count in
                slots?.pointee = 7
                count?.pointee = OddModule.state.withLock { $0.slotCount }
                return CKR_OK
            }
            functions.pointee.C_GetSlotInfo = { _, _ in CKR_OK }
            functions.pointee.C_GetTokenInfo = { _, _ in CKR_OK }
            functions.pointee.C_FindObjectsInit = { _, _, _ in
                OddModule.state.withLock { $0.unlisted = [1, 2] }
                return CKR_OK
            }
            functions.pointee.C_FindObjects = { _, objects, _, count in
                let next = OddModule.state.withLock { $0.unlisted.popLast() }
                if let next { objects?.pointee = next }
                count?.pointee = next == nil ? 0 : 1
                return CKR_OK
            }
            functions.pointee.C_FindObjectsFinal = { _ in CKR_OK }
            functions.pointee.C_GetAttributeValue = { _, object, attributes, count in
                for index in 0..<Int(count) { attributes?[index].set(OddModule.value(attributes?[index].type, object)) }
                return CKR_ATTRIBUTE_TYPE_INVALID
            }
            functions.pointee.C_DeriveKey = { _, _, _, _, _, _ in CKR_USER_NOT_LOGGED_IN }
            functions.pointee.C_Login = { _, _, _, _ in
                OddModule.state.withLock { state in
                    state.logins += 1
                    return state.login
                }
            }
        }

        deinit { functions.deallocate() }

        private static func value(_ type: CK_ATTRIBUTE_TYPE?, _ object: CK_OBJECT_HANDLE) -> [UInt8]? {
            switch type {
            case CKA_KEY_TYPE: TokenAttribute(0, CKK_EC).value
            case CKA_ID: [UInt8(object)]
            case CKA_EC_PARAMS: Curve.p256.parameters
            case CKA_EC_POINT: Curve.octetString(basePoint)
            case CKA_PRIVATE, CKA_DERIVE, CKA_ALWAYS_AUTHENTICATE: [1]
            default: nil
            }
        }

        /// SEC 2, section 2.4.2: a point on the curve.
        private static let basePoint: [UInt8] = [
            0x04,
            0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2,
            0x77, 0x03, 0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96,
            0x4F, 0xE3, 0x42, 0xE2, 0xFE, 0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16,
            0x2B, 0xCE, 0x33, 0x57, 0x6B, 0x31, 0x5E, 0xCE, 0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
        ]
    }

    extension CK_ATTRIBUTE {
        /// - Parameter value: the attribute's value, or nil if the object does not have the attribute.
        fileprivate mutating func set(_ value: [UInt8]?) {
            if let value { pValue?.copyMemory(from: value, byteCount: value.count) }
            ulValueLen = value.map { CK_ULONG($0.count) } ?? .max
        }
    }
#endif
