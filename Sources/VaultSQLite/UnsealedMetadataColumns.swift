internal import Foundation
internal import GRDB
internal import VaultCrypto
internal import VaultStorage

/// The unsealed metadata of an account: JSON in one column, and its checksum in another.
enum UnsealedMetadataColumns {
    /// Returns the metadata. Nil if it is damaged: this keeps nobody out of the account.
    static func read(_ row: Row, of id: AccountID) -> [String: String]? {
        do {
            let text: String? = try row.decode(forColumn: "metadata")
            let checksum: Data? = try row.decode(forColumn: "metadata_checksum")
            if text == nil && checksum == nil { return [:] }
            guard let text, let checksum, Array(checksum) == Self.checksum(of: text, id) else { return nil }
            return try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
        } catch {
            return nil
        }
    }

    /// Changes the metadata inside the caller's transaction.
    static func change(
        _ db: Database, row: Int64, of id: AccountID, _ change: (inout [String: String]) throws -> Void
    ) throws {
        let stored = try Row.fetchOne(
            db, sql: "SELECT metadata, metadata_checksum FROM account WHERE id = ?", arguments: [row])
        var metadata = stored.flatMap { read($0, of: id) } ?? [:]
        try change(&metadata)
        let text = try DisplayClaims.written(metadata)
        try db.execute(
            sql: "UPDATE account SET metadata = ?, metadata_checksum = ? WHERE id = ?",
            arguments: [text, text.map { Data(checksum(of: $0, id)) }, row])
    }

    /// The id is part of it, so that the metadata of another account does not pass for this one's.
    private static func checksum(of text: String, _ id: AccountID) -> [UInt8] {
        Checksum.of([Array("metadata".utf8), Array(id.issuer.utf8), Array(id.subject.utf8), Array(text.utf8)])
    }
}
