import Foundation
import GRDB
import KeyServiceClient
import Testing
import VaultCrypto
import VaultSQLite
import VaultStorageTestSupport
import VaultTesting

@testable import VaultStorage
@testable import VaultUnlock

/// The files of a store that was used in every way, as a thief reads them without any secret.
struct StolenDisk {
    /// All bytes of all files, also of SQLite's log.
    let bytes: Data
    /// The columns of all tables, as "table.column".
    let columns: Set<String>
    /// The records by their names. The account's own ones begin with "account/".
    let records: [String: String]
    /// The values that must not be readable.
    let secrets: [String: [UInt8]]
    let account: Account
    let firstKey: String

    static let id = AccountID(issuer: issuer, subject: "subject-of-alice")
    static let now = Date(timeIntervalSince1970: 1_800_000_000.25)
    private static let pin = "826493"
    private static let content = "nobody may read this content"

    func shows(_ text: String) -> Bool { bytes.range(of: Data(text.utf8)) != nil }
    func shows(_ value: [UInt8]) -> Bool { bytes.range(of: Data(value)) != nil }

    /// The account's record of this name.
    func record(_ name: String) -> String? { records[Self.id.recordPrefix + name] }

    /// The disk of a machine whose app chose no claims for the list of accounts.
    static var usual: StolenDisk { get async throws { try await made.value } }
    private static let made = Task { try await stolen(displayClaims: nil) }

    /// - Parameter displayClaims: the claims that an app chose for the list of accounts.
    static func stolen(displayClaims: [String]?) async throws -> StolenDisk {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(folder: folder)
            let fixture = OPRFFixture(store: store, clock: ManualClock(now))
            let (vaultKey, code) = try await use(fixture, displayClaims)
            let account = try await fixture.accounts.account(id)
            let (columns, records) = try read(folder)
            return StolenDisk(
                bytes: try files(folder), columns: columns, records: records,
                secrets: try secrets(vaultKey, code), account: account, firstKey: try await firstKey(fixture))
        }
    }

    private static func secrets(_ vaultKey: VaultKey, _ code: SharedSecret) throws -> [String: [UInt8]] {
        let code = code.bytes.utf8String() ?? ""
        let key = try #require(vaultKey.bytes)
        return [
            "password": Array(OPRFFixture.password.utf8), "PIN": Array(pin.utf8), "code": Array(code.utf8),
            "code without hyphens": Array(code.replacing("-", with: "").utf8),
            "vault key": key.bytes.withUnsafeBytes { Array($0) }, "refresh token": Array("value-of-refresh".utf8),
            "access token": Array("value-of-access".utf8), "ID token": Array("id.token".utf8),
            "client secret": Array("client-secret".utf8), "proof key": [UInt8](repeating: 0xA7, count: 32),
            "name": Array("Alice Liddell".utf8), "claim": Array("+44 1865 276150".utf8),
            "item": Array(content.utf8), "typed user name": Array("perhaps-a-password".utf8),
        ]
    }

    /// The key of the first password, which has been replaced and not ended.
    private static func firstKey(_ fixture: OPRFFixture) async throws -> String {
        for case .create(let id) in fixture.service.calls { return id }
        throw StoreError(.corrupt, "No key was made.")
    }

    // MARK: - The life of the store

    private static func use(
        _ fixture: OPRFFixture, _ displayClaims: [String]?
    ) async throws -> (VaultKey, code: SharedSecret) {
        var accounts = fixture.accounts
        accounts.displayClaims = displayClaims
        accounts.obeyed = ObeyedPolicy(.standard, machine: .standard)
        accounts.knowsAllUsers = true
        accounts.keyServiceAudience = .insecureAny
        accounts.services.deviceLists = { [service = fixture.service] _ in service }
        fixture.service.accessTokenOwner = { _ in id }
        let access = AccessToken(
            value: "value-of-access", tokenType: "Bearer", expiresAt: now + 300, scope: "openid mail", obtainedAt: now)
        let claims = #"{"name":"Alice Liddell","phone_number":"+44 1865 276150"}"#
        let token = SignInResult(
            Credential(
                value: "value-of-refresh", scope: "openid mail", clientSecret: "client-secret",
                proofKey: [UInt8](repeating: 0xA7, count: 32)),
            account: id, clientID: "id-of-a-client",
            identity: .init(
                email: "alice@example.com", preferredUsername: "alice.l", name: "Alice Liddell",
                claimsJSON: Array(claims.utf8)),
            accessToken: access, idToken: "id.token")
        func account() async throws -> Account { try await accounts.account(id) }
        let password = SharedSecret(try SecretBytes(utf8: OPRFFixture.password))
        let vaultKey = try await accounts.register(
            token, newPassword: password.bytes, alias: "alias-of-alice", replacingItems: false)
        // Each unlock method.
        try await accounts.addPIN(SecretBytes(utf8: pin), to: account(), vaultKey: vaultKey)
        let (code, recovery) = try await accounts.makeRecoveryKeyslot(for: account(), vaultKey: vaultKey)
        try await accounts.add(recovery, to: account(), vaultKey: vaultKey)
        try await accounts.addHardware(
            ScriptedHardwareKey(label: "key of Alice", pin: pin), prompt: ScriptedPrompt(pin), to: account(),
            vaultKey: vaultKey)
        try await accounts.addOffline(password: password, to: account(), vaultKey: vaultKey)
        // What an app stores in the clear.
        try await fixture.store.apply(
            [.changeUnsealedMetadata { $0["key of an app"] = "ward of Alice" }], to: id)
        // Items of both sizes.
        let large = Array(repeatElement(content, count: 10_000).joined().utf8)
        for (name, bytes) in [("name of a note", Array(content.utf8)), ("name of a file", large)] {
            let pieces = AsyncStream { continuation in
                continuation.yield(bytes)
                continuation.finish()
            }
            let items = ItemContents(store: fixture.store, id: id, vaultKey: vaultKey)
            try await fixture.store.apply([items.sealed(pieces, as: ItemName(rawValue: name))], to: id)
        }
        // The list of devices.
        let devices = try await accounts.devices(of: id, access, vaultKey: vaultKey)
        try await accounts.rename(
            #require(devices.first), of: id, to: "machine of Alice", access, vaultKey: vaultKey)
        // A failed sign-in at a backend.
        try await AttemptRecords.change(in: fixture.store, at: now) {
            $0["https://backend.example.com", "perhaps-a-password"] = .init(failures: 1, lastAt: now)
        }
        // The confirmations of all this must not come later.
        await accounts.finishConfirming()
        // Another password, whose old key does not end. Wrong secrets, a locked key, and a confirmation that gets lost.
        var away = fixture.restarted { UnendingService(base: $0) }.accounts
        (away.obeyed, away.knowsAllUsers) = (accounts.obeyed, accounts.knowsAllUsers)
        try await away.setPassword(password.bytes, of: account(), vaultKey: vaultKey)
        let wrong = SharedSecret(try SecretBytes(utf8: "wrong"))
        _ = try? await accounts.open(account(), with: .offline(wrong))
        for _ in 0..<3 { _ = try? await accounts.open(account(), with: .pin(SecretBytes(utf8: "000000"))) }
        _ = try? await accounts.open(account(), with: .password(wrong))
        fixture.service.losesConfirms = true
        _ = try await away.open(account(), with: .password(password))
        await away.finishConfirming()
        return (vaultKey, code)
    }

    // MARK: - The thief's view

    static func files(_ folder: String) throws -> Data {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted().reduce(into: Data()) { all, name in
            all += Data(name.utf8) + (try Data(contentsOf: URL(filePath: folder + "/" + name)))
        }
    }

    private static func read(_ folder: String) throws -> (columns: Set<String>, records: [String: String]) {
        let database = try DatabaseQueue(path: folder + "/vault.sqlite")
        defer { try? database.close() }
        return try database.read { db in
            let columns = try String.fetchAll(
                db,
                sql: """
                    SELECT t.name || '.' || c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
                        WHERE t.type = 'table' AND t.name NOT LIKE 'grdb%'
                    """)
            let records = try Row.fetchAll(db, sql: "SELECT name, value FROM record").map { row in
                (row["name"] as String, String(decoding: row["value"] as Data, as: UTF8.self))
            }
            return (Set(columns), Dictionary(uniqueKeysWithValues: records))
        }
    }
}
