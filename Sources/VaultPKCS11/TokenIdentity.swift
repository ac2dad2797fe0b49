#if PKCS11
    internal import CPKCS11

    /// The identity of a token (PKCS #11 2.40 section 3.2, CK_TOKEN_INFO).
    struct TokenIdentity: Hashable, Sendable {
        let manufacturer: String
        let model: String
        let serial: String
        let label: String

        init(manufacturer: String, model: String, serial: String, label: String) {
            self.manufacturer = manufacturer
            self.model = model
            self.serial = serial
            self.label = label
        }

        init(_ info: CK_TOKEN_INFO) {
            var info = info
            manufacturer = text(&info.manufacturerID)
            model = text(&info.model)
            serial = text(&info.serialNumber)
            label = text(&info.label)
        }

        /// Whether it is the same piece of hardware. The label may change, for example with a certificate.
        func isSameHardware(as other: TokenIdentity) -> Bool {
            manufacturer == other.manufacturer && model == other.model && serial == other.serial
        }

        /// Whether it is at least of the same make.
        func isSameModel(as other: TokenIdentity) -> Bool {
            manufacturer == other.manufacturer && model == other.model
        }

        /// The token's name for the person.
        var name: String {
            [label, model, manufacturer].first { !$0.isEmpty } ?? "PKCS#11 token"
        }
    }

    /// Reads a field of a PKCS#11 structure: UTF-8, filled with spaces. Characters that move a terminal's cursor are
    /// left out.
    func text<Field>(_ field: inout Field) -> String {
        withUnsafeBytes(of: &field) { bytes in
            let count = (bytes.lastIndex { $0 != 0x20 && $0 != 0 } ?? -1) + 1
            let decoded = String(decoding: bytes[..<count], as: UTF8.self)
            // There are many fields, and most have nothing to leave out.
            if bytes[..<count].allSatisfy({ (0x20..<0x7F).contains($0) }) { return decoded }
            return String(String.UnicodeScalarView(decoded.unicodeScalars.filter { !isControl($0) }))
        }
    }

    private func isControl(_ scalar: Unicode.Scalar) -> Bool {
        [.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
    }
#endif
