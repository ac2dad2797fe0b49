#if PKCS11
    internal import CPKCS11

    /// An attribute of an object on a token, for a search or a new object.
    struct TokenAttribute {
        let type: CK_ATTRIBUTE_TYPE
        let value: [UInt8]

        init(_ type: CK_ATTRIBUTE_TYPE, _ value: [UInt8]) {
            self.type = type
            self.value = value
        }

        init(_ type: CK_ATTRIBUTE_TYPE, _ value: Bool) { self.init(type, [value ? 1 : 0]) }

        /// Makes an attribute from a number, in the byte order of the machine.
        init(_ type: CK_ATTRIBUTE_TYPE, _ value: CK_ULONG) { self.init(type, withUnsafeBytes(of: value) { Array($0) }) }
    }

    extension [TokenAttribute] {
        /// Calls `body` with the attributes in C's form.
        func withTemplate<Answer>(
            _ body: (UnsafeMutablePointer<CK_ATTRIBUTE>?, CK_ULONG) throws -> Answer
        ) rethrows -> Answer {
            var bytes = flatMap(\.value)
            return try bytes.withUnsafeMutableBytes { bytes in
                var offset = 0
                var template = map { attribute in
                    defer { offset += attribute.value.count }
                    return CK_ATTRIBUTE(
                        type: attribute.type, pValue: bytes.baseAddress.map { $0 + offset },
                        ulValueLen: CK_ULONG(attribute.value.count))
                }
                return try template.withUnsafeMutableBufferPointer { try body($0.baseAddress, CK_ULONG($0.count)) }
            }
        }
    }

    extension [UInt8] {
        /// The value of a numeric attribute.
        var number: CK_ULONG? {
            count == MemoryLayout<CK_ULONG>.size ? withUnsafeBytes { $0.loadUnaligned(as: CK_ULONG.self) } : nil
        }

        /// The value of a boolean attribute.
        var isTrue: Bool { count == 1 && self[0] != 0 }
    }
#endif
