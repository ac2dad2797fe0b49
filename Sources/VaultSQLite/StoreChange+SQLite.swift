internal import Foundation
internal import GRDB
internal import VaultCrypto
internal import VaultStorage

extension StoreChange {
    /// Makes these changes inside the caller's transaction.
    static func apply(_ changes: [StoreChange], _ db: Database, to id: AccountID) throws {
        let hasAlias = changes.contains { change in
            if case .putAccount(let account) = change { account.alias != nil } else { false }
        }
        // Read before the changes, because a registration may replace the account.
        let sql = "SELECT alias FROM account WHERE subject = ? AND issuer = ?"
        let alias = try hasAlias ? String.fetchOne(db, sql: sql, arguments: [id.subject, id.issuer]) : nil
        for change in changes { try change.apply(db, to: id, alias: alias) }
    }

    /// - Parameter alias: the alias of the account before all changes.
    private func apply(_ db: Database, to id: AccountID, alias: String?) throws {
        if case .putAccount(let account) = self { return try Self.put(account, db, alias: alias) }
        if case .changeRecord(let name, _, let change) = self { return try db.changeRecord(name, change) }
        guard
            let row = try Int64.fetchOne(
                db, sql: "SELECT id FROM account WHERE subject = ? AND issuer = ?", arguments: [id.subject, id.issuer])
        else { throw StoreError(.noSuchAccount, "The account \(id) was deleted meanwhile. Register it again.") }
        switch self {
        case .putAccount, .changeRecord: break  // done above
        case .removeAccount:
            try db.execute(sql: "DELETE FROM account WHERE id = ?", arguments: [row])
            // All names from the prefix to the prefix with the next character instead of the slash. This uses the
            // index.
            try db.execute(
                sql: "DELETE FROM record WHERE name >= ? AND name < ?",
                arguments: [id.recordPrefix, id.recordPrefix.dropLast() + "0"])
        case .putKeyslot(let slot):
            try Self.put(slot, staged: false, db, of: id, row: row)
        case .stageKeyslot(let slot):
            try db.execute(sql: "DELETE FROM keyslot WHERE account_id = ? AND staged = 1", arguments: [row])
            try Self.put(slot, staged: true, db, of: id, row: row)
        case .activateKeyslot(let slot):
            try db.execute(
                sql: "UPDATE keyslot SET staged = 0 WHERE account_id = ? AND id = ?", arguments: [row, slot])
            guard db.changesCount == 1 else {
                throw StoreError(
                    .noSuchAccount,
                    "Another program changed the password of \(id) meanwhile. Log in with that password.")
            }
        case .removeKeyslot(let slot):
            try db.execute(sql: "DELETE FROM keyslot WHERE account_id = ? AND id = ?", arguments: [row, slot])
        case .renameKeyslot(let slot, let label):
            try db.execute(
                sql: "UPDATE keyslot SET label = ? WHERE account_id = ? AND id = ?", arguments: [label, row, slot])
        case .noteUse(let slot, let date):
            try db.execute(
                sql: "UPDATE keyslot SET last_used_at = ? WHERE account_id = ? AND id = ?",
                arguments: [date.timeIntervalSince1970, row, slot])
        case .changeUnsealedMetadata(let change):
            try UnsealedMetadataColumns.change(db, row: row, of: id, change)
        case .noteOnline(let date):
            try db.execute(
                sql: "UPDATE account SET last_online_at = ? WHERE id = ?",
                arguments: [date.timeIntervalSince1970, row])
        case .noteTokens(let scope, let type, let end):
            try db.execute(
                sql: """
                    UPDATE account SET granted_scope = ?, access_token_type = ?, access_token_expires_at = ? WHERE id = ?
                    """,
                arguments: [scope, type, end?.timeIntervalSince1970, row])
        case .noteRefusal(let date):
            try Self.note(refusal: date, db, row: row)
        case .putDisplayClaims(let claims):
            try db.execute(
                sql: "UPDATE account SET display_claims = ? WHERE id = ?",
                arguments: [DisplayClaims.written(claims), row])
        case .putItem(let name, let sealed):
            try Self.put(sealed, as: name, db, row: row)
            if name == .refreshToken { try Self.note(refusal: nil, db, row: row) }
        case .putChunks(let name, let head, let chunks):
            try Self.put(head, as: name, db, row: row)
            try chunks.read { number, bytes in
                try db.execute(
                    sql: "INSERT INTO chunk (account_id, name, number, sealed) VALUES (?, ?, ?, ?)",
                    arguments: [row, name.rawValue, number, Data(bytes)])
                if number == chunks.count / 2 { FaultPoint.itemHalfWritten.reach() }
            }
        case .resealItems(let reseal): try Self.reseal(db, row: row, reseal)
        case .removeItem(let name):
            try db.execute(
                sql: "DELETE FROM item WHERE account_id = ? AND name = ?", arguments: [row, name.rawValue])
            if name == .accessToken {
                try db.execute(
                    sql: "UPDATE account SET access_token_expires_at = NULL WHERE id = ?", arguments: [row])
            }
            if name == .refreshToken { try Self.note(refusal: nil, db, row: row) }
        case .beginRefresh(let date):
            try db.execute(
                sql: "UPDATE account SET refresh_started_at = ? WHERE id = ?",
                arguments: [date.timeIntervalSince1970, row])
        case .endRefresh:
            try db.execute(sql: "UPDATE account SET refresh_started_at = NULL WHERE id = ?", arguments: [row])
        }
    }

    private static func note(refusal date: Date?, _ db: Database, row: Int64) throws {
        try db.execute(
            sql: "UPDATE account SET refused_at = ? WHERE id = ?", arguments: [date?.timeIntervalSince1970, row])
    }

    /// Deletes the chunks of the old item.
    private static func put(_ sealed: [UInt8], as name: ItemName, _ db: Database, row: Int64) throws {
        try db.execute(
            sql: """
                INSERT INTO item (account_id, name, sealed) VALUES (?, ?, ?)
                ON CONFLICT (account_id, name) DO UPDATE SET sealed = excluded.sealed
                """, arguments: [row, name.rawValue, Data(sealed)])
        try db.execute(
            sql: "DELETE FROM chunk WHERE account_id = ? AND name = ?", arguments: [row, name.rawValue])
    }

    /// Reads one item at a time: all of them may be larger than the memory.
    private static func reseal(
        _ db: Database, row: Int64, _ reseal: (ItemName, [UInt8]) throws -> [UInt8]
    ) throws {
        let names = try String.fetchAll(db, sql: "SELECT name FROM item WHERE account_id = ?", arguments: [row])
        for (number, name) in names.enumerated() {
            if number == names.count / 2 { FaultPoint.vaultKeyHalfReplaced.reach() }
            let sealed = try Data.fetchOne(
                db, sql: "SELECT sealed FROM item WHERE account_id = ? AND name = ?", arguments: [row, name])
            guard let sealed else { continue }
            try db.execute(
                sql: "UPDATE item SET sealed = ? WHERE account_id = ? AND name = ?",
                arguments: [Data(try reseal(ItemName(rawValue: name), Array(sealed))), row, name])
        }
    }

    private static func put(_ account: Account, _ db: Database, alias: String?) throws {
        if account.alias != alias { try requireFreeAlias(of: account, db) }
        do {
            try db.execute(
                sql: """
                    INSERT INTO account (issuer, subject, alias, email, preferred_username, method, client_id,
                        key_service_url, device_secret, created_at, checksum)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (subject, issuer) DO UPDATE SET alias = excluded.alias, email = excluded.email,
                        preferred_username = excluded.preferred_username, method = excluded.method,
                        client_id = excluded.client_id,
                        key_service_url = excluded.key_service_url, device_secret = excluded.device_secret,
                        created_at = excluded.created_at, checksum = excluded.checksum
                    """,
                arguments: [
                    account.id.issuer, account.id.subject, account.alias, account.email, account.preferredUsername,
                    account.method.rawValue, account.clientID, account.keyServiceURL, Data(account.deviceSecret),
                    account.createdAt.timeIntervalSince1970, Data(account.checksum),
                ])
            try putLayout(of: account, db)
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE {
            throw StoreError(
                .aliasTaken, "Another account already has the alias \(account.alias ?? ""). Choose another alias.")
        }
    }

    /// A new alias must not be a name of another account, because one name would then stand for two. An old alias of
    /// the account stays.
    private static func requireFreeAlias(of account: Account, _ db: Database) throws {
        let id = account.id
        guard let alias = account.alias else { return }
        let owners = try Row.fetchAll(
            db, sql: "SELECT issuer, subject FROM account WHERE id IN (\(Account.idsNamed))",
            arguments: ["name": alias]
        ).map { try AccountID(row: $0) }
        guard let owner = owners.first(where: { $0 != id }) else { return }
        throw StoreError(.aliasTaken, "The alias \(alias) is a name of \(owner). Choose another alias.")
    }

    /// A damaged layout stays as it is: it must not look like one that was never stored.
    private static func putLayout(of account: Account, _ db: Database) throws {
        guard account.layout != .damaged else { return }
        let layout = account.layout?.bytes
        try db.execute(
            sql: "UPDATE account SET layout = ?, layout_checksum = ? WHERE subject = ? AND issuer = ?",
            arguments: [
                layout.map { Data($0) }, layout.map { Data(StoredLayout.checksum(of: $0, account.id)) },
                account.id.subject, account.id.issuer,
            ])
    }

    private static func put(_ slot: Keyslot, staged: Bool, _ db: Database, of id: AccountID, row: Int64) throws {
        try db.execute(
            sql: """
                INSERT INTO keyslot (id, account_id, kind, salt, argon2_passes, argon2_memory_kib, argon2_lanes, key_id,
                    protocol, wrapped, created_at, staged, checksum, label, last_used_at, protection, check_key, end_signature)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                slot.id, row, slot.kind.rawValue, Data(slot.salt), Int64(slot.argon2.passes),
                Int64(slot.argon2.memoryKiB), Int64(slot.argon2.lanes), slot.keyID, slot.keyServiceProtocol,
                Data(slot.wrapped),
                slot.createdAt.timeIntervalSince1970, staged, Data(slot.checksum(of: id)),
                slot.label, slot.lastUsedAt?.timeIntervalSince1970,
                slot.protection.isEmpty ? nil : Data(slot.protection),
                slot.check.isEmpty ? nil : Data(slot.check),
                slot.endSignature.isEmpty ? nil : Data(slot.endSignature),
            ])
    }
}

extension Database {
    /// Reads and changes a record inside the caller's transaction.
    func changeRecord<R>(_ name: String, _ change: (inout [UInt8]?) throws -> R) throws -> R {
        let old = try Data.fetchOne(self, sql: "SELECT value FROM record WHERE name = ?", arguments: [name])
            .map { Array($0) }
        var value = old
        let result = try change(&value)
        if let value, value != old {
            try execute(
                sql: "INSERT OR REPLACE INTO record (name, value) VALUES (?, ?)", arguments: [name, Data(value)])
        } else if value == nil, old != nil {
            try execute(sql: "DELETE FROM record WHERE name = ?", arguments: [name])
        }
        return result
    }
}
