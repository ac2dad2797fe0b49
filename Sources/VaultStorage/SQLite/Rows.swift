internal import Foundation
internal import GRDB
internal import VaultCrypto

/// Accounts and keyslots as rows. What goes into a key derivation is under a checksum, so that damage is noticed before
/// it looks like a wrong password and costs guesses.
extension Account {
    static let columns = """
        id, issuer, subject, alias, email, preferred_username, client_id, key_service_url, device_secret, created_at,
        refresh_started_at, checksum
        """

    init(row: Row, keyslots: [Keyslot]) throws {
        self.init(
            id: AccountID(issuer: row["issuer"], subject: row["subject"]), alias: row["alias"], email: row["email"],
            preferredUsername: row["preferred_username"], clientID: row["client_id"],
            keyServiceURL: row["key_service_url"], deviceSecret: Array(row["device_secret"] as Data),
            createdAt: Date(timeIntervalSince1970: row["created_at"]),
            refreshStartedAt: (row["refresh_started_at"] as Double?).map { Date(timeIntervalSince1970: $0) },
            keyslots: keyslots)
        guard Array(row["checksum"] as Data) == checksum else {
            throw StoreError(.corrupt, "The stored account \(id) is damaged.")
        }
    }

    var checksum: [UInt8] {
        Checksum.of([
            Array(id.issuer.utf8), Array(id.subject.utf8), Array(clientID.utf8), Array(keyServiceURL.utf8),
            deviceSecret,
        ])
    }
}

extension Keyslot {
    init(row: Row, of id: AccountID) throws {
        guard let passes = UInt32(exactly: row["argon2_passes"] as Int64),
            let memory = UInt32(exactly: row["argon2_memory_kib"] as Int64),
            let lanes = UInt32(exactly: row["argon2_lanes"] as Int64)
        else { throw StoreError(.corrupt, "A stored keyslot of \(id) is damaged.") }
        self.init(
            id: row["id"], kind: Kind(rawValue: row["kind"]), salt: Array(row["salt"] as Data),
            argon2: Argon2Parameters(passes: passes, memoryKiB: memory, lanes: lanes), keyID: row["key_id"],
            wrapped: Array(row["wrapped"] as Data), createdAt: Date(timeIntervalSince1970: row["created_at"]))
        guard Array(row["checksum"] as Data) == checksum(of: id) else {
            throw StoreError(.corrupt, "A stored keyslot of \(id) is damaged, or belongs to another account.")
        }
    }

    func checksum(of id: AccountID) -> [UInt8] {
        Checksum.of([
            Array(id.issuer.utf8), Array(id.subject.utf8), Array(self.id.utf8), Array(kind.rawValue.utf8), salt,
            Array("\(argon2.passes) \(argon2.memoryKiB) \(argon2.lanes)".utf8), Array(keyID.utf8), wrapped,
        ])
    }
}
