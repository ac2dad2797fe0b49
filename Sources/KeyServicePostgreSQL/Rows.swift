#if PostgreSQL
    internal import CPostgreSQL

    /// The rows of an answer, in PostgreSQL's binary form.
    final class Rows {
        private let result: OpaquePointer
        private let libpq: LibPQ

        init(_ result: OpaquePointer, _ libpq: LibPQ) {
            self.result = result
            self.libpq = libpq
        }

        deinit { libpq.PQclear(result) }

        var count: Int { Int(libpq.PQntuples(result)) }

        /// Reads a `bigint` that may be NULL.
        func optionalNumber(_ row: Int, _ column: Int) throws(DatabaseFailure) -> Int64? {
            guard let bytes = value(row, column) else { return nil }
            guard bytes.count == 8 else { throw .damaged }
            return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        }

        /// Reads a `bigint`.
        func number(_ row: Int, _ column: Int) throws(DatabaseFailure) -> Int64 {
            guard let number = try optionalNumber(row, column) else { throw .damaged }
            return number
        }

        /// Reads a `bytea`.
        func bytes(_ row: Int, _ column: Int) throws(DatabaseFailure) -> [UInt8] {
            guard let bytes = value(row, column) else { throw .damaged }
            return Array(bytes)
        }

        /// Reads a `bytea` that may be NULL.
        func optionalBytes(_ row: Int, _ column: Int) -> [UInt8]? {
            value(row, column).map { Array($0) }
        }

        /// Reads a `text` that may be NULL.
        func optionalText(_ row: Int, _ column: Int) -> String? {
            value(row, column).map { String(decoding: $0, as: UTF8.self) }
        }

        /// Reads a `text`.
        func text(_ row: Int, _ column: Int) throws(DatabaseFailure) -> String {
            guard let text = optionalText(row, column) else { throw .damaged }
            return text
        }

        private func value(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
            let (row, column) = (CInt(row), CInt(column))
            // libpq prints a warning for a row or column out of range.
            guard row < libpq.PQntuples(result), column < libpq.PQnfields(result),
                libpq.PQgetisnull(result, row, column) == 0
            else { return nil }
            return UnsafeRawBufferPointer(
                start: libpq.PQgetvalue(result, row, column), count: Int(libpq.PQgetlength(result, row, column)))
        }
    }
#endif
