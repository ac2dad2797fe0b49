#if PostgreSQL
    internal import KeyServiceServer

    /// The rows of a look-up or a charge.
    enum FoundRows {
        /// Writes the outcomes of the keys that have a row.
        ///
        /// - Parameters:
        ///   - ids: the keys that were asked for.
        ///   - places: their places in `outcomes`.
        static func read(
            _ rows: Rows, ids: [String], places: [Int], into outcomes: inout [ChangeBatch.Outcome]
        ) throws(DatabaseFailure) {
            for row in 0..<rows.count {
                let index = Int(clamping: try rows.number(row, 0)) - 1
                guard ids.indices.contains(index) else { throw .damaged }
                do {
                    outcomes[places[index]] = .success(try outcome(rows, row, keyID: ids[index]))
                } catch {
                    // One damaged record must not fail the others.
                    outcomes[places[index]] = .failure(DatabaseFailure.damaged.error)
                }
            }
        }

        /// Reads a record from the columns created_at, kind, details, master_key and content.
        static func record(_ rows: Rows, _ row: Int, from column: Int, keyID: String) throws -> KeyRecord {
            KeyRecord(
                id: keyID, createdAt: try rows.number(row, column),
                details: try KeyDetails(
                    kind: Int(clamping: try rows.number(row, column + 1)), bytes: try rows.bytes(row, column + 2)),
                masterKeyID: MasterKeyID(rawValue: UInt64(bitPattern: try rows.number(row, column + 3))),
                content: try rows.bytes(row, column + 4))
        }

        /// Reads the columns wrong_guesses, wrong_guesses_in_all and last_wrong_at.
        static func count(_ rows: Rows, _ row: Int, from column: Int) throws(DatabaseFailure) -> GuessCount {
            GuessCount(
                inARow: Int(clamping: try rows.number(row, column)),
                inAll: Int(clamping: try rows.number(row, column + 1)),
                lastWrongAt: try rows.optionalNumber(row, column + 2))
        }

        private static func outcome(_ rows: Rows, _ row: Int, keyID: String) throws -> KeyRecordOutcome {
            // Only the look-up has this column. A charge finds no locked key.
            if try rows.optionalNumber(row, 12) == 1 { return .locked }
            return .found(
                FoundKey(
                    reference: KeyReference(id: keyID, row: try rows.number(row, 1)),
                    record: try record(rows, row, from: 5, keyID: keyID),
                    count: try count(rows, row, from: 2),
                    limits: GuessLimits(
                        inARow: Int(clamping: try rows.number(row, 10)),
                        inAll: Int(clamping: try rows.number(row, 11)))))
        }
    }
#endif
