#if PostgreSQL
    internal import CPostgreSQL

    /// The parameters of a statement in PostgreSQL's binary form. An array has a value for each change of a batch.
    struct Parameters {
        /// The object ids of the types, the same in every database.
        private enum ElementType: Int32 {
            case bytea = 17
            case bigint = 20
            case text = 25
        }

        private var bytes: [UInt8] = []
        /// The first byte after each parameter; nil for the value NULL.
        private var ends: [Int?] = []

        var count: Int { ends.count }

        mutating func add(_ number: Int64?) {
            guard let number else { return ends.append(nil) }
            append(number)
            ends.append(bytes.count)
        }

        mutating func add(_ value: [UInt8]?) {
            guard let value else { return ends.append(nil) }
            bytes += value
            ends.append(bytes.count)
        }

        mutating func add(_ text: String?) {
            guard let text else { return ends.append(nil) }
            bytes += text.utf8
            ends.append(bytes.count)
        }

        mutating func add(_ numbers: [Int64?]) {
            addArray(of: .bigint, count: numbers.count) { parameters in
                for number in numbers {
                    guard let number else {
                        parameters.append(Int32(-1))
                        continue
                    }
                    parameters.append(Int32(8))
                    parameters.append(number)
                }
            }
        }

        mutating func add(_ texts: [String]) {
            addArray(of: .text, count: texts.count) { parameters in
                for text in texts {
                    parameters.append(Int32(text.utf8.count))
                    parameters.bytes += text.utf8
                }
            }
        }

        mutating func add(_ values: [[UInt8]?]) {
            addArray(of: .bytea, count: values.count) { parameters in
                for value in values {
                    guard let value else {
                        parameters.append(Int32(-1))
                        continue
                    }
                    parameters.append(Int32(value.count))
                    parameters.bytes += value
                }
            }
        }

        /// Calls `body` with the arrays for libpq.
        func withPointers<R>(
            _ body: (
                _ values: UnsafePointer<UnsafePointer<CChar>?>?, _ sizes: UnsafePointer<CInt>?,
                _ formats: UnsafePointer<CInt>?
            ) -> R
        ) -> R {
            bytes.withUnsafeBytes { buffer in
                let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
                var values: [UnsafePointer<CChar>?] = []
                var sizes: [CInt] = []
                var begin = 0
                for end in ends {
                    values.append(end == nil ? nil : start.map { $0 + begin } ?? Self.nothing)
                    sizes.append(CInt((end ?? begin) - begin))
                    begin = end ?? begin
                }
                return body(values, sizes, [CInt](repeating: 1, count: ends.count))
            }
        }

        /// A pointer for a value without bytes, which is not NULL. The unsafe mark is sound, because nobody writes there.
        nonisolated(unsafe) private static let nothing: UnsafePointer<CChar> = {
            let pointer = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
            pointer.initialize(to: 0)
            return UnsafePointer(pointer)
        }()

        private mutating func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }

        private mutating func addArray(of type: ElementType, count: Int, _ body: (inout Parameters) -> Void) {
            // The dimensions, a flag for NULLs that the server does not read, the type, the size and the first index.
            append(Int32(1))
            append(Int32(1))
            append(type.rawValue)
            append(Int32(count))
            append(Int32(1))
            body(&self)
            ends.append(bytes.count)
        }
    }
#endif
