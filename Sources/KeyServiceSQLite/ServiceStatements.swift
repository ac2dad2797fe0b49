internal import Foundation
internal import GRDB
internal import KeyServiceCore

/// The statements for the state that all instances of the service share, and for the identity.
enum ServiceStatements {
    static let missing = KeyServiceServerError(
        .storeUnusable, "The database is damaged: its service row is missing.")

    /// Notes the server and its time, as ``StoreClock/checkIn(at:isClockSet:)``, and adds 1 to the generation.
    static func checkIn(_ checkIn: ServerCheckIn, _ db: Database) throws -> StoreState {
        let masterKeys = checkIn.isLast ? nil : Data(StoredMasterKeyIDs.bytes(checkIn.masterKeys))
        try db.cachedStatement(
            sql: """
                UPDATE service SET server_master_keys = ?3, generation = generation + 1, checked_in_at = ?1,
                    clock_steady_since = CASE
                        WHEN ?2 OR (checked_in_at <> 0 AND (?1 - checked_in_at)
                            NOT BETWEEN -\(StoreClock.tolerance) AND \(StoreClock.longestGap)) THEN ?1
                        ELSE clock_steady_since END
                """
        ).execute(arguments: [checkIn.time, checkIn.isClockSet, masterKeys])
        return try state(db)
    }

    /// Returns the master keys of the server; nil for a server that ended in an orderly way.
    @Sendable static func masterKeysOfServer(_ db: Database) throws -> [MasterKeyID]? {
        let bytes = try Data.fetchOne(db, sql: "SELECT server_master_keys FROM service")
        return bytes.map { StoredMasterKeyIDs.read([UInt8]($0)) }
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
            clock: StoreClock(
                checkedInAt: try row.decode(forColumn: "checked_in_at"),
                steadySince: try row.decode(forColumn: "clock_steady_since")),
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
