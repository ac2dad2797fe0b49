internal import Foundation
internal import GRDB
internal import KeyServiceCore

/// The statements for the state that all instances of the service share, and for the identity.
enum ServiceStatements {
    static let missing = KeyServiceServerError(
        .storeUnusable, "The database is damaged: its service row is missing.")

    /// Writes the time, and adds 1 to the generation.
    static func checkIn(at time: Int64, _ db: Database) throws -> StoreState {
        try db.cachedStatement(sql: "UPDATE service SET checked_in_at = ?, generation = generation + 1")
            .execute(arguments: [time])
        return try state(db)
    }

    // On a damaged row, "decode" throws, but a subscript would trap.

    @Sendable static func state(_ db: Database) throws -> StoreState {
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM service") else { throw missing }
        let entries = try Row.fetchAll(db, sql: "SELECT id, check_value FROM master_key ORDER BY id").map { row in
            let check: Data = try row.decode(forColumn: "check_value")
            return StoredMasterKey(
                id: MasterKeyID(rawValue: UInt64(bitPattern: try row.decode(forColumn: "id"))), check: [UInt8](check))
        }
        let storeID: Data = try row.decode(forColumn: "store_id")
        return StoreState(
            storeID: [UInt8](storeID), generation: try row.decode(forColumn: "generation"),
            limits: try KeyStatements.limits(db), masterKeys: entries,
            retiredBecause: try row.decode(forColumn: "retired_because"))
    }

    @Sendable static func identity(_ db: Database) throws -> StoredIdentity? {
        guard let row = try Row.fetchOne(db, sql: "SELECT master_key, content FROM service_identity") else {
            return nil
        }
        let content: Data = try row.decode(forColumn: "content")
        return StoredIdentity(
            masterKeyID: MasterKeyID(rawValue: UInt64(bitPattern: try row.decode(forColumn: "master_key"))),
            content: [UInt8](content))
    }
}
