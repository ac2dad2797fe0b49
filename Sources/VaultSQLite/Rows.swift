internal import Foundation
internal import GRDB
internal import VaultCrypto
internal import VaultStorage

/// Accounts and keyslots as rows. All values for a key derivation are under a checksum. So damage is found before it
/// looks like a wrong password and costs guesses.
///
/// Values are read with `decode`, never with a subscript. A subscript traps and prints the row if damage has put NULL
/// or another type in its place.
extension AccountID {
    init(row: Row) throws {
        try self.init(issuer: row.decode(forColumn: "issuer"), subject: row.decode(forColumn: "subject"))
    }
}

extension Account {
    static let columns = """
        metadata, metadata_checksum,
        id, issuer, subject, alias, email, preferred_username, method, client_id, key_service_url, device_secret,
        created_at, last_online_at, refresh_started_at, granted_scope, access_token_type,
        access_token_expires_at, refused_at, display_claims, layout, layout_checksum, checksum
        """

    /// Selects the accounts that have a name. With UNION each condition uses its own index, for any number of accounts.
    static let idsNamed = """
        SELECT id FROM account WHERE subject = :name UNION SELECT id FROM account WHERE alias = :name
        UNION SELECT id FROM account WHERE email = :name
        UNION SELECT id FROM account WHERE preferred_username = :name
        """

    /// - Parameter slots: the rows of its keyslots. A damaged one does not affect the others.
    init(row: Row, slots: [Row]) throws {
        let id = try AccountID(row: row)
        var keyslots: [Keyslot] = []
        var damaged: [DamagedKeyslot] = []
        for slot in slots {
            do {
                keyslots.append(try Keyslot(row: slot, of: id))
            } catch {
                try damaged.append(
                    DamagedKeyslot(
                        id: slot.decode(forColumn: "id"), kind: Keyslot.Kind(rawValue: slot.decode(forColumn: "kind")),
                        keyID: try? slot.decode(String.self, forColumn: "key_id"),
                        keyServiceProtocol: try? slot.decode(Int.self, forColumn: "protocol"),
                        endSignature: Array((try? slot.decode(Data.self, forColumn: "end_signature")) ?? Data())))
            }
        }
        let lastOnlineAt: Double? = try row.decode(forColumn: "last_online_at")
        let refreshStartedAt: Double? = try row.decode(forColumn: "refresh_started_at")
        try self.init(
            id: id, alias: row.decode(forColumn: "alias"), email: row.decode(forColumn: "email"),
            preferredUsername: row.decode(forColumn: "preferred_username"),
            method: SignInMethod(rawValue: row.decode(forColumn: "method")),
            clientID: row.decode(forColumn: "client_id"), keyServiceURL: row.decode(forColumn: "key_service_url"),
            deviceSecret: row.bytes("device_secret"), createdAt: row.date("created_at"),
            lastOnlineAt: lastOnlineAt.map { Date(timeIntervalSince1970: $0) },
            refreshStartedAt: refreshStartedAt.map { Date(timeIntervalSince1970: $0) }, keyslots: keyslots)
        damagedKeyslots = damaged
        // These values are only for people to read, so damage here keeps nobody out.
        grantedScope = try? row.decode(forColumn: "granted_scope")
        accessTokenType = try? row.decode(forColumn: "access_token_type")
        accessTokenExpiresAt = (try? row.decode(Double.self, forColumn: "access_token_expires_at"))
            .map { Date(timeIntervalSince1970: $0) }
        refusedAt = (try? row.decode(Double.self, forColumn: "refused_at")).map { Date(timeIntervalSince1970: $0) }
        displayClaims = DisplayClaims.read(try? row.decode(forColumn: "display_claims"))
        layout = StoredLayout(row: row, of: id)
        unsealedMetadata = UnsealedMetadataColumns.read(row, of: id)
        guard try row.bytes("checksum") == checksum else {
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

extension StoredLayout {
    /// Nil if there is none. Damage here does not affect the rest of the account.
    init?(row: Row, of id: AccountID) {
        do {
            let bytes: Data? = try row.decode(forColumn: "layout")
            let checksum: Data? = try row.decode(forColumn: "layout_checksum")
            if bytes == nil && checksum == nil { return nil }
            self =
                Array(checksum ?? Data()) == Self.checksum(of: Array(bytes ?? Data()), id)
                ? .json(Array(bytes ?? Data())) : .damaged
        } catch {
            self = .damaged
        }
    }
}

extension Keyslot {
    init(row: Row, of id: AccountID) throws {
        guard let passes = UInt32(exactly: try row.decode(Int64.self, forColumn: "argon2_passes")),
            let memory = UInt32(exactly: try row.decode(Int64.self, forColumn: "argon2_memory_kib")),
            let lanes = UInt32(exactly: try row.decode(Int64.self, forColumn: "argon2_lanes"))
        else { throw StoreError(.corrupt, "A stored keyslot of \(id) is damaged.") }
        let lastUsedAt: Double? = try row.decode(forColumn: "last_used_at")
        let protection: Data? = try row.decode(forColumn: "protection")
        let check: Data? = try row.decode(forColumn: "check_key")
        let endSignature: Data? = try row.decode(forColumn: "end_signature")
        try self.init(
            id: row.decode(forColumn: "id"), kind: Kind(rawValue: row.decode(forColumn: "kind")),
            salt: row.bytes("salt"), argon2: Argon2Parameters(passes: passes, memoryKiB: memory, lanes: lanes),
            keyID: row.decode(forColumn: "key_id"), keyServiceProtocol: row.decode(forColumn: "protocol"),
            wrapped: row.bytes("wrapped"), createdAt: row.date("created_at"),
            label: row.decode(forColumn: "label"), lastUsedAt: lastUsedAt.map { Date(timeIntervalSince1970: $0) },
            protection: Array(protection ?? Data()), check: Array(check ?? Data()),
            endSignature: Array(endSignature ?? Data()))
        // The checksum is no secret, so somebody may have changed it with the rest.
        let isConsistent =
            switch keyServiceProtocol {
            case nil: keyID.isEmpty
            case 1: !keyID.isEmpty && self.check.isEmpty && self.endSignature.isEmpty
            case .some(let version): !keyID.isEmpty && version > 1
            }
        guard isConsistent, try row.bytes("checksum") == checksum(of: id) else {
            throw StoreError(.corrupt, "A stored keyslot of \(id) is damaged, or belongs to another account.")
        }
    }

    func checksum(of id: AccountID) -> [UInt8] {
        let parts = [
            Array(id.issuer.utf8), Array(id.subject.utf8), Array(self.id.utf8), Array(kind.rawValue.utf8), salt,
            Array("\(argon2.passes) \(argon2.memoryKiB) \(argon2.lanes)".utf8), Array(keyID.utf8), wrapped, protection,
            check, endSignature, Array((keyServiceProtocol.map { "\($0)" } ?? "").utf8),
        ]
        return Checksum.of(parts)
    }
}

extension Row {
    fileprivate func bytes(_ column: String) throws -> [UInt8] {
        Array(try decode(Data.self, forColumn: column))
    }

    fileprivate func date(_ column: String) throws -> Date {
        Date(timeIntervalSince1970: try decode(Double.self, forColumn: column))
    }
}
