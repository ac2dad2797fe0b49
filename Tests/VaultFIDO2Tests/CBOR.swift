#if FIDO2
    /// The part of CBOR (RFC 8949) that CTAP 2 messages use.
    indirect enum CBOR: Hashable {
        case unsigned(UInt64)
        /// The number -1 - n.
        case negative(UInt64)
        case bytes([UInt8])
        case text(String)
        case array([CBOR])
        /// The pairs, in the order in which they are written.
        case map([Pair])
        case bool(Bool)

        struct Pair: Hashable {
            let key: CBOR
            let value: CBOR
        }

        struct Malformed: Error {}

        static func int(_ number: Int) -> CBOR {
            number < 0 ? .negative(UInt64(-1 - number)) : .unsigned(UInt64(number))
        }

        static func object(_ pairs: KeyValuePairs<CBOR, CBOR>) -> CBOR {
            .map(pairs.map { Pair(key: $0.key, value: $0.value) })
        }

        subscript(_ key: Int) -> CBOR? { self[.int(key)] }
        subscript(_ key: CBOR) -> CBOR? {
            guard case .map(let pairs) = self else { return nil }
            return pairs.first { $0.key == key }?.value
        }

        var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
        var text: String? { if case .text(let text) = self { text } else { nil } }
        var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
        var array: [CBOR]? { if case .array(let array) = self { array } else { nil } }
        var int: Int? {
            switch self {
            case .unsigned(let number): Int(exactly: number)
            case .negative(let number): Int(exactly: number).map { -1 - $0 }
            default: nil
            }
        }

        var encoded: [UInt8] {
            switch self {
            case .unsigned(let number): Self.head(0, number)
            case .negative(let number): Self.head(1, number)
            case .bytes(let bytes): Self.head(2, UInt64(bytes.count)) + bytes
            case .text(let text): Self.head(3, UInt64(text.utf8.count)) + Array(text.utf8)
            case .array(let items): Self.head(4, UInt64(items.count)) + items.flatMap(\.encoded)
            case .map(let pairs):
                Self.head(5, UInt64(pairs.count)) + pairs.flatMap { $0.key.encoded + $0.value.encoded }
            case .bool(let value): [value ? 0xF5 : 0xF4]
            }
        }

        private static func head(_ type: UInt8, _ number: UInt64) -> [UInt8] {
            let width =
                switch number {
                case ..<24: 0
                case ..<0x100: 1
                case ..<0x1_0000: 2
                case ..<0x1_0000_0000: 4
                default: 8
                }
            if width == 0 { return [type << 5 | UInt8(number)] }
            let size: [Int: UInt8] = [1: 24, 2: 25, 4: 26, 8: 27]
            return [type << 5 | (size[width] ?? 0)]
                + withUnsafeBytes(of: number.bigEndian) { Array($0.suffix(width)) }
        }

        /// Reads one item. No bytes may follow it.
        init(_ bytes: some Sequence<UInt8>) throws {
            var rest = ArraySlice(Array(bytes))
            self = try Self.read(&rest)
            guard rest.isEmpty else { throw Malformed() }
        }

        private static func read(_ rest: inout ArraySlice<UInt8>) throws -> CBOR {
            guard let first = rest.popFirst() else { throw Malformed() }
            if first == 0xF4 || first == 0xF5 { return .bool(first == 0xF5) }
            let width: [UInt8: Int] = [24: 1, 25: 2, 26: 4, 27: 8]
            var number = UInt64(first & 0x1F)
            if number >= 24 {
                guard let width = width[first & 0x1F] else { throw Malformed() }
                number = try take(width, &rest).reduce(0) { $0 << 8 | UInt64($1) }
            }
            // Every item takes at least one byte.
            guard first >> 5 < 2 || number <= UInt64(rest.count) else { throw Malformed() }
            func items() throws -> [CBOR] { try (0..<number).map { _ in try read(&rest) } }
            switch first >> 5 {
            case 0: return .unsigned(number)
            case 1: return .negative(number)
            case 2: return .bytes(try take(Int(number), &rest))
            case 3: return .text(String(decoding: try take(Int(number), &rest), as: UTF8.self))
            case 4: return .array(try items())
            case 5: return .map(try (0..<number).map { _ in Pair(key: try read(&rest), value: try read(&rest)) })
            default: throw Malformed()
            }
        }

        private static func take(_ count: Int, _ rest: inout ArraySlice<UInt8>) throws -> [UInt8] {
            guard rest.count >= count else { throw Malformed() }
            defer { rest.removeFirst(count) }
            return Array(rest.prefix(count))
        }
    }
#endif
