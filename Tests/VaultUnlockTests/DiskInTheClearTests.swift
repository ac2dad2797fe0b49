import Foundation
import GRDB
import KeyServiceClient
import Testing
import VaultBase
import VaultCrypto
import VaultSQLite
import VaultStorageTestSupport
import VaultTesting

@testable import VaultStorage
@testable import VaultUnlock

/// What the disk shows in the clear, and what it does not show.
@Suite(.timeLimit(.minutes(2))) struct DiskInTheClearTests {
    /// The columns and records by the row of the threat model that names them. A new one needs a place in both.
    private static let rows: [String: [String]] = [
        "": ["account.id", "keyslot.account_id", "item.account_id", "chunk.account_id", "account.checksum"],
        "accounts": [
            "account.issuer", "account.subject", "account.alias", "account.email", "account.preferred_username",
            "account.created_at", "account.last_online_at", "account.device_secret", "account.display_claims",
            "account.method", "account.layout", "account.layout_checksum", "vault-key",
        ],
        "unlock methods": [
            "keyslot.id", "keyslot.kind", "keyslot.label", "keyslot.last_used_at", "keyslot.created_at",
            "keyslot.salt", "keyslot.argon2_passes", "keyslot.argon2_memory_kib", "keyslot.argon2_lanes",
            "keyslot.staged", "keyslot.checksum", "keyslot-notes", "offline-guesses",
        ],
        "metadata of apps": ["account.metadata", "account.metadata_checksum"],
        "items": ["item.name", "chunk.name", "chunk.number"],
        "tokens": [
            "account.granted_scope", "account.access_token_type", "account.access_token_expires_at",
            "account.refresh_started_at", "account.refused_at",
        ],
        "sign-ins": ["account.client_id", "attempts"],
        "the key service": [
            "account.key_service_url", "keyslot.key_id", "keyslot.protocol", "keyslot.check_key",
            "keyslot.protection",
            "keyslot.end_signature", "own-guesses", "key-service-versions", "told-not-trusted",
        ],
        "old keys": ["retired-keys"],
        "the list of devices": ["device"],
        "the machine": ["machine-policy"],
        // Nobody reads these without a secret.
        "sealed": ["keyslot.wrapped", "item.sealed", "chunk.sealed", "record.name", "record.value"],
    ]

    @Test func `when a thief reads the files, then no secret shows`() async throws {
        let disk = try await StolenDisk.usual
        for (name, secret) in disk.secrets {
            let forms = [
                secret, Array(Data(secret).base64EncodedString().utf8), Array(Base64URL.encode(secret).utf8),
                Array(secret.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined().utf8),
                Array(secret.map(String.init).joined(separator: ",").utf8),
            ]
            #expect(secret.count >= 6 && !forms.contains(where: disk.shows), "\(name)")
        }
    }

    @Test func `when a column exists, then the threat model names it`() async throws {
        let disk = try await StolenDisk.usual
        let known = Set(Self.rows.values.joined())
        #expect(disk.columns.subtracting(known) == [])
        let records = Set(disk.records.keys.map { $0.split(separator: "/").last.map(String.init) ?? $0 })
        #expect(records.subtracting(known) == [])
        #expect(known.filter { $0.contains(".") }.subtracting(disk.columns) == [], "columns that are gone")
    }

    // Row: accounts
    @Test func `when a thief reads the files, then accounts show`() async throws {
        let disk = try await StolenDisk.usual
        let account = disk.account
        for text in [issuer, "subject-of-alice", "alice@example.com", "alice.l", "alias-of-alice"] {
            #expect(disk.shows(text), "\(text)")
        }
        #expect(disk.shows(account.deviceSecret))
        #expect(account.createdAt == StolenDisk.now && account.lastOnlineAt == StolenDisk.now)
        // Other claims are there only if an app chose them.
        #expect(try await StolenDisk.stolen(displayClaims: ["name"]).shows("Alice Liddell"))
    }

    // Row: unlock methods
    @Test func `when a thief reads the files, then unlock methods show`() async throws {
        let disk = try await StolenDisk.usual
        let slots = disk.account.keyslots
        #expect(Set(slots.map(\.kind.rawValue)) == ["password", "pin", "recovery", "offline", "pkcs11"])
        #expect(slots.contains { $0.label == "key of Alice" } && disk.shows("key of Alice"))
        #expect(slots.contains { $0.kind == .password && $0.lastUsedAt == StolenDisk.now })
        let pin = try #require(disk.account.keyslot(.pin))
        #expect(disk.record("keyslot-notes")?.contains(pin.id) == true)
        #expect(disk.record("keyslot-notes")?.contains("locked") == true)
        #expect(disk.record("offline-guesses") != nil)
        for slot in slots where slot.kind.isTyped || slot.kind == .offline { #expect(disk.shows(slot.salt)) }
    }

    // Row: metadata of apps
    @Test func `when a thief reads the files, then apps' metadata shows`() async throws {
        let disk = try await StolenDisk.usual
        #expect(disk.shows("key of an app") && disk.shows("ward of Alice"))
    }

    // Row: items
    @Test func `when a thief reads the files, then item names show`() async throws {
        let disk = try await StolenDisk.usual
        #expect(disk.shows("name of a note") && disk.shows("name of a file") && disk.shows("vault/refresh-token"))
    }

    // Row: tokens
    @Test func `when a thief reads the files, then token metadata shows`() async throws {
        let disk = try await StolenDisk.usual
        #expect(disk.account.grantedScope == "openid mail" && disk.shows("openid mail"))
        #expect(disk.account.accessTokenType == "Bearer" && disk.shows("Bearer"))
        #expect(disk.account.accessTokenExpiresAt == StolenDisk.now + 300)
    }

    // Row: sign-ins
    @Test func `when a thief reads the files, then failed sign-ins show`() async throws {
        let disk = try await StolenDisk.usual
        #expect(disk.shows("id-of-a-client"))
        let attempts = try #require(disk.records["attempts"])
        #expect(attempts.contains("backend.example.com") && attempts.contains("salt"))
        let unsalted = Checksum.of([Array("https://backend.example.com".utf8), Array("perhaps-a-password".utf8)])
        #expect(!attempts.contains(Data(unsalted).base64EncodedString()))
    }

    // Row: the key service
    @Test func `when a thief reads files, then keys and guesses show`() async throws {
        let disk = try await StolenDisk.usual
        #expect(disk.shows(OPRFFixture.url))
        for slot in disk.account.keyslots where !slot.keyID.isEmpty {
            #expect(disk.shows(slot.keyID) && disk.shows(slot.check) && disk.shows(slot.endSignature), "\(slot.kind)")
            // Only the signature of a password or a PIN is not sealed.
            #expect((slot.endSignature.count == 64) == slot.kind.isGuessable)
        }
        let guesses = try #require(disk.record("own-guesses"))
        for part in ["\"guesses\"", "\"waiting\":[{", "\"sent\""] { #expect(guesses.contains(part), "\(part)") }
    }

    // Row: old keys
    @Test func `when a thief reads the files, then retired keys show`() async throws {
        let disk = try await StolenDisk.usual
        let retired = try #require(disk.records["retired-keys"])
        #expect(retired.contains(disk.firstKey) && retired.contains("endSignature"))
    }

    // Row: the list of devices
    @Test func `when a thief reads files, then the machine's name shows`() async throws {
        let disk = try await StolenDisk.usual
        let device = try #require(disk.record("device"))
        #expect(device.contains("machine of Alice") && device.contains("\"claims\""))
    }

    // Row: the machine
    @Test func `when a thief reads files, then the policy note shows`() async throws {
        #expect(try await StolenDisk.usual.records["machine-policy"] != nil)
    }

    // Row: the vault key; the disk after `vault rekey`
    @Test func `when the vault key changes, then no old bytes remain`() async throws {
        try await withTemporaryFolder { folder in
            let fixture = OPRFFixture(store: try SQLiteStore(folder: folder))
            let vaultKey = try await fixture.register()
            try await fixture.store.apply(
                [.putItem("note", vaultKey.seal(Array("a note".utf8), as: "note", of: fixture.account().id))],
                to: fixture.account().id)
            let slot = try await fixture.slot()
            var old = [slot.wrapped]
            for name in try await fixture.store.itemNames(of: fixture.account().id) {
                old.append(try #require(try await fixture.store.item(name, of: fixture.account().id)))
            }
            #expect(old.count > 2 && old.allSatisfy { Self.contains(folder, $0) })
            _ = try await fixture.accounts.replaceVaultKey(
                of: fixture.account(), keeping: .password(SecretBytes(utf8: OPRFFixture.password)))
            #expect(!old.contains { Self.contains(folder, $0) })
        }
    }

    private static func contains(_ folder: String, _ value: [UInt8]) -> Bool {
        (try? StolenDisk.files(folder))?.range(of: Data(value)) != nil
    }
}
