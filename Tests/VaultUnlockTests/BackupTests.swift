import Foundation
import KeyServiceClient
import TestSupport
import Testing
import VaultCrypto
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// Accounts and items that move from one machine to another.
@Suite(.timeLimit(.minutes(5))) struct BackupTests {
    private static let passphrase = "seven owls on a wire"
    private static let note: ItemName = "note"

    private func secret(_ text: String = passphrase) throws -> SharedSecret {
        SharedSecret(try SecretBytes(utf8: text))
    }
    private func id(_ name: String) -> AccountID { AccountID(issuer: issuer, subject: name) }

    /// A machine with a key service that all machines share.
    private struct Machine {
        let registry: Registry
        var accounts: Accounts { registry.accounts }
        var store: any SecureStore { accounts.store }

        init(_ keyService: InMemoryKeyService) {
            registry = Registry(store: InMemoryStore(), keyService: keyService)
        }

        func contents(_ name: String, password: String? = nil) async throws -> ItemContents {
            let account = try await accounts.account(AccountID(issuer: issuer, subject: name))
            let key = try await accounts.open(
                account, with: .password(SecretBytes(utf8: password ?? "\(name)'s password")))
            return ItemContents(store: store, id: account.id, vaultKey: key)
        }

        func put(_ name: ItemName, _ content: [UInt8], of user: String, password: String? = nil) async throws {
            let contents = try await contents(user, password: password)
            let pieces = AsyncStream<[UInt8]> { continuation in
                continuation.yield(content)
                continuation.finish()
            }
            try await store.apply([contents.sealed(pieces, as: name)], to: contents.id)
        }

        func get(_ name: ItemName, of user: String, password: String? = nil) async throws -> [UInt8]? {
            guard let item = try await contents(user, password: password).item(name) else { return nil }
            return try await item.content.reduce(into: []) { $0 += $1 }
        }

        func export(_ names: [String], items: Set<ItemName>? = nil, to path: String, _ passphrase: SharedSecret)
            async throws -> BackupContents
        {
            var opened: [(account: Account, vaultKey: VaultKey)] = []
            for name in names {
                let contents = try await contents(name)
                opened.append((try await accounts.account(contents.id), contents.vaultKey))
            }
            return try await accounts.exportBackup(of: opened, items: items, to: path, passphrase: passphrase)
        }
    }

    private func code(_ body: () async throws -> Void) async -> VaultError.Code? {
        await thrown(\VaultError.code) {
            do { try await body() } catch { throw VaultError.converting(error) }
        }
    }

    private func content(_ size: Int) -> [UInt8] { (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    /// Two machines, and a backup of the first one's accounts at a path.
    private func withMachines(_ body: (Machine, Machine, String) async throws -> Void) async throws {
        let keyService = InMemoryKeyService()
        let (old, new) = (Machine(keyService), Machine(keyService))
        for name in ["alice", "bob"] {
            try await old.registry.register(name)
            try await old.put(Self.note, Array("note of \(name)".utf8), of: name)
        }
        try await withTemporaryFolder { try await body(old, new, $0 + "/backup") }
    }

    @Test func `when a backup is imported, then apps' metadata returns`() async throws {
        try await withMachines { old, new, path in
            try await old.store.apply([.changeUnsealedMetadata { $0["desk.ward"] = "4" }], to: id("alice"))
            _ = try await old.export(["alice"], to: path, secret())
            let backup = try await new.accounts.openBackup(at: path, passphrase: secret())
            _ = try await new.accounts.importAccount(
                id("alice"), from: backup, newPassword: secret("a new password"))
            #expect(try await new.store.account(id("alice"))?.unsealedMetadata == ["desk.ward": "4"])
        }
    }

    @Test func `when a backup is imported, then accounts and items return`() async throws {
        try await withMachines { old, new, path in
            try await old.put("large", content(300_000), of: "alice")
            try await old.put("empty", [], of: "alice")
            let written = try await old.export(["alice", "bob"], to: path, secret())
            let backup = try await new.accounts.openBackup(at: path, passphrase: secret())
            #expect(backup.contents == written)
            #expect(written.accounts.map(\.id) == [id("alice"), id("bob")])
            #expect(written.accounts[0].items == ["empty", "large", Self.note])
            #expect(written.accounts[0].unlockMethods == [.password] && written.accounts[0].alias == "alias-alice")

            let result = try await new.accounts.importAccount(
                id("alice"), from: backup, newPassword: secret("a new password"))
            #expect(result == BackupImport.of(["empty", "large", Self.note]))
            #expect(try await new.get("large", of: "alice", password: "a new password") == content(300_000))
            #expect(try await new.get("empty", of: "alice", password: "a new password") == [])
            #expect(try await new.store.account(id("bob")) == nil)
            #expect(await code { _ = try await new.get(Self.note, of: "alice") } == .wrongSecret)
            let (before, after) = (
                try await old.accounts.account(id("alice")), try await new.accounts.account(id("alice"))
            )
            #expect(after.alias == before.alias && after.email == before.email && after.clientID == before.clientID)
            #expect(after.method == before.method && after.keyServiceURL == before.keyServiceURL)
            #expect(after.deviceSecret != before.deviceSecret)
            // The backup contained no token, and the old machine works as before.
            for name in [ItemName.refreshToken, .accessToken, .idToken] {
                #expect(try await new.store.item(name, of: id("alice")) == nil)
            }
            #expect(try await old.get(Self.note, of: "alice") == Array("note of alice".utf8))
            #expect(
                await code {
                    _ = try await new.accounts.importAccount(
                        id("alice"), from: backup, newPassword: secret("another one"))
                } == .accountExists)
            #expect(
                await code {
                    _ = try await new.accounts.importAccount(
                        id("carol"), from: backup, newPassword: secret("another one"))
                } == .accountNotFound)
        }
    }

    @Test func `when registering follows an import, then the items stay`() async throws {
        try await withMachines { old, new, path in
            _ = try await old.export(["alice"], to: path, secret())
            let backup = try await new.accounts.openBackup(at: path, passphrase: secret())
            _ = try await new.accounts.importAccount(id("alice"), from: backup, newPassword: secret("a new password"))
            let account = try await new.accounts.account(id("alice"))
            let method = try UnlockMethod.password(SecretBytes(utf8: "a new password"))
            let vaultKey = try await new.accounts.open(account, with: method)
            #expect(
                await code { _ = try await new.accounts.refreshToken(of: account.id, vaultKey: vaultKey) }
                    == .notLoggedIn)
            let token = SignInResult(
                Credential(value: "new token", scope: nil), account: account.id, clientID: "app",
                identity: .init(email: nil, preferredUsername: "al", name: nil, claimsJSON: Array("{}".utf8)),
                accessToken: nil)
            _ = try await new.accounts.replaceRefreshToken(token, with: method, alias: nil)
            #expect(try await new.accounts.refreshToken(of: account.id, vaultKey: vaultKey).value == "new token")
            #expect(
                try await new.get(Self.note, of: "alice", password: "a new password") == Array("note of alice".utf8))
        }
    }

    @Test func `when an account exists, then imports replace items on request`() async throws {
        try await withMachines { old, new, path in
            try await old.put("more", content(100_000), of: "alice")
            _ = try await old.export(["alice", "bob"], to: path, secret())
            let backup = try await new.accounts.openBackup(at: path, passphrase: secret())
            try await new.registry.register("alice")
            try await new.put(Self.note, [1], of: "alice")
            try await new.put("own", [2], of: "alice")
            let account = try await new.accounts.account(id("alice"))
            let key = try await new.contents("alice").vaultKey
            func add(_ isReplacing: Bool) async throws -> BackupImport {
                try await new.accounts.importItems(of: account, from: backup, vaultKey: key, isReplacing: isReplacing)
            }
            #expect(try await add(false) == BackupImport.of(["more"], kept: [Self.note]))
            #expect(try await new.get(Self.note, of: "alice") == [1])
            #expect(try await new.get("more", of: "alice") == content(100_000))
            #expect(try await add(true) == BackupImport.of(["more", Self.note]))
            #expect(try await new.get(Self.note, of: "alice") == Array("note of alice".utf8))
            #expect(try await new.get("own", of: "alice") == [2])
            #expect(
                try await new.accounts.refreshToken(of: account.id, vaultKey: key).value == "refresh token of alice")
            #expect(try await new.accounts.account(id("alice")) == account)
        }
    }

    @Test func `when an export names items, then only those are written`() async throws {
        try await withMachines { old, _, path in
            try await old.put("other", [1], of: "bob")
            let written = try await old.export(["alice", "bob"], items: ["other"], to: path, secret())
            #expect(written.accounts.map(\.items) == [[], ["other"]])
            #expect(
                await code {
                    _ = try await old.export(["alice"], items: ["other"], to: path + "2", secret())
                } == .itemNotFound)
            // The existing accounts stay, and no half-made account is left.
            let before = try Data(contentsOf: URL(filePath: path))
            #expect(await code { _ = try await old.export(["alice"], to: path, secret()) } == .configurationInvalid)
            #expect(try Data(contentsOf: URL(filePath: path)) == before)
            #expect(
                await code { _ = try await old.export(["alice"], to: path + "/x", secret()) } == .configurationInvalid)
            #expect(
                await code { _ = try await old.export(["alice"], to: path + "2", secret("short")) }
                    == .forbiddenByPolicy)
            #expect(await code { _ = try await old.export(["alice"], to: path + "2", secret("")) } == .passwordUnusable)
            let folder = (path as NSString).deletingLastPathComponent
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["backup"])
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func `when a backup's folder is missing, then its path fails`() async {
        for path in ["/nonexistent/backup.cvb", "/dev/null/backup.cvb", "/dev/null"] {
            #expect(await code { try BackupWriter.requireWritable(path) } == .configurationInvalid, "\(path)")
        }
        let free = NSTemporaryDirectory() + UUID().uuidString
        #expect(await code { try BackupWriter.requireWritable(free) } == nil)
    }

    @Test func `when an alias is taken, then the import drops it`() async throws {
        try await withMachines { old, new, path in
            _ = try await old.export(["alice"], to: path, secret())
            try await new.store.apply([.putAccount(.example("carol", alias: "alias-alice"))], to: id("carol"))
            let backup = try await new.accounts.openBackup(at: path, passphrase: secret())
            let result = try await new.accounts.importAccount(
                id("alice"), from: backup, newPassword: secret("a new password"))
            #expect(result.aliasWasTaken)
            #expect(try await new.accounts.account(id("alice")).alias == nil)
        }
    }

    @Test func `when an import fails, then nothing changes`() async throws {
        try await withMachines { old, new, path in
            _ = try await old.export(["alice"], to: path, secret())
            let backup = try await new.accounts.openBackup(at: path, passphrase: secret())
            func make() async -> VaultError.Code? {
                await code {
                    _ = try await new.accounts.importAccount(
                        id("alice"), from: backup, newPassword: secret("a new password"))
                }
            }
            let store = try #require(new.store as? InMemoryStore)
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            #expect(await make() == .storeUnreadable)
            store.writeFailure = nil
            #expect(try await store.accounts().isEmpty)
            new.registry.keyService.isReachable = false
            #expect(await make() == .keyServiceUnavailable)
            #expect(try await store.accounts().isEmpty)
            new.registry.keyService.isReachable = true
            #expect(await make() == nil)
        }
    }

    @Test func `when the policy forbids offline opening, then backups are refused`() async throws {
        try await withMachines { old, _, path in
            let strict = Accounts(
                store: old.store, clock: ManualClock(), argon2: .insecureForTests, offlineCost: .insecureForTests,
                policy: VaultPolicy(allowedUnlockMethods: [.password]), keyServiceURL: "https://keys.example.com",
                services: KeyServices(released: { _ in old.registry.keyService }))
            #expect(
                await code {
                    _ = try await strict.exportBackup(of: [], items: nil, to: path, passphrase: secret())
                } == .forbiddenByPolicy)
        }
    }

    // MARK: - Files from outside

    @Test func `when a backup is cut off, then opening fails`() async throws {
        try await withMachines { old, new, path in
            _ = try await old.export(["alice", "bob"], to: path, secret())
            let whole = try Data(contentsOf: URL(filePath: path))
            for count in 0..<whole.count {
                try whole.prefix(count).write(to: URL(filePath: path))
                let found = await code { _ = try await new.accounts.openBackup(at: path, passphrase: secret()) }
                // Damage in the middle of the first chunk looks like a wrong passphrase.
                #expect(
                    found == .backupInvalid || found == .wrongSecret && count > 77,
                    "\(count) bytes: \(found?.name ?? "opened")")
            }
            try (whole + [0]).write(to: URL(filePath: path))
            let found = await code { _ = try await new.accounts.openBackup(at: path, passphrase: secret()) }
            #expect(found == .backupInvalid || found == .wrongSecret)
        }
    }

    @Test func `when a large backup's chunks change, then opening fails`() async throws {
        try await withMachines { old, new, path in
            try await old.put("large", content(300_000), of: "alice")
            _ = try await old.export(["alice"], to: path, secret())
            let whole = try Data(contentsOf: URL(filePath: path))
            func refuse(_ changed: Data, _ what: String) async throws {
                try changed.write(to: URL(filePath: path))
                let found = await code { _ = try await new.accounts.openBackup(at: path, passphrase: secret()) }
                #expect(found == .backupInvalid, "\(what)")
            }
            let (header, chunk) = (60, 65_553)
            for count in 1..<(whole.count - header) / chunk + 1 {
                try await refuse(whole.prefix(header + count * chunk), "\(count) chunks")
                try await refuse(whole.prefix(header + count * chunk + 5), "\(count) chunks and a bit")
            }
            try await refuse(whole + [0], "a byte more")
            try await refuse(whole + whole[header..<header + chunk], "a chunk more")
            var swapped = whole
            swapped.replaceSubrange(
                header + chunk..<header + 2 * chunk, with: whole[(header + 2 * chunk)..<(header + 3 * chunk)])
            swapped.replaceSubrange(
                header + 2 * chunk..<header + 3 * chunk, with: whole[(header + chunk)..<(header + 2 * chunk)])
            try await refuse(swapped, "two chunks swapped")
        }
    }

    @Test func `when bytes follow a full last chunk, then opening fails`() async throws {
        try await withMachines { old, new, path in
            try await old.put("x", content(10), of: "alice")
            _ = try await old.export(["alice"], to: path, secret())
            let plain = try Data(contentsOf: URL(filePath: path)).count - 60 - 17
            try await old.put("x", content(10 + 65_536 - plain), of: "alice")
            _ = try await old.export(["alice"], to: path + "2", secret())
            let whole = try Data(contentsOf: URL(filePath: path + "2"))
            #expect(whole.count == 60 + 65_553)
            _ = try await new.accounts.openBackup(at: path + "2", passphrase: secret())
            try (whole + [0]).write(to: URL(filePath: path))
            #expect(
                await code { _ = try await new.accounts.openBackup(at: path, passphrase: secret()) } == .backupInvalid)
        }
    }

    @Test func `when a backup's bit is flipped, then opening fails`() async throws {
        try await withMachines { old, new, path in
            _ = try await old.export(["alice"], to: path, secret())
            let whole = try Data(contentsOf: URL(filePath: path))
            // Within its bounds, the cost's high bits ask for up to 2 GiB. The test of the header tries them.
            for bit in Set(0..<60 * 8).subtracting(40..<136).union((0..<200).map { 480 + $0 * 11 })
            where bit < whole.count * 8 {
                var changed = whole
                changed[bit / 8] ^= 1 << (bit % 8)
                try changed.write(to: URL(filePath: path))
                let found = await code { _ = try await new.accounts.openBackup(at: path, passphrase: secret()) }
                #expect(found == .backupInvalid || found == .wrongSecret, "bit \(bit)")
            }
        }
    }

    @Test func `when a passphrase or file is wrong, then opening fails`() async throws {
        try await withMachines { old, new, path in
            _ = try await old.export(["alice"], to: path, secret())
            func open(_ path: String, _ passphrase: String = Self.passphrase) async -> VaultError.Code? {
                await code { _ = try await new.accounts.openBackup(at: path, passphrase: secret(passphrase)) }
            }
            #expect(await open(path, "another passphrase") == .wrongSecret)
            #expect(await open(path, "") == .passwordUnusable)
            #expect(await open(path + "-missing") == .configurationInvalid)
            #expect(await open((path as NSString).deletingLastPathComponent) == .configurationInvalid)
            var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
            bytes[4] = 2
            try Data(bytes).write(to: URL(filePath: path))
            #expect(await open(path) == .backupInvalid)
            try Data("not a backup".utf8).write(to: URL(filePath: path))
            #expect(await open(path) == .backupInvalid)
        }
    }

    @Test func `when costs are out of bounds, then opening fails`() async throws {
        try await withMachines { old, new, path in
            _ = try await old.export(["alice"], to: path, secret())
            let whole = [UInt8](try Data(contentsOf: URL(filePath: path)))
            for (offset, value) in [
                (5, 0), (5, 17), (9, 0), (9, 2 * 1024 * 1024 + 1), (9, Int(UInt32.max)), (13, 0), (13, 17),
            ] {
                var bytes = whole
                bytes.replaceSubrange(
                    offset..<offset + 4, with: withUnsafeBytes(of: UInt32(value).bigEndian) { Array($0) })
                try Data(bytes).write(to: URL(filePath: path))
                let found = await code { _ = try await new.accounts.openBackup(at: path, passphrase: secret()) }
                #expect(found == .backupInvalid, "\(value) at \(offset)")
            }
        }
    }
}

/// The content of the stream. Only a person with the passphrase can have put it there, by mistake or on purpose.
@Suite struct BackupParserTests {
    private let records: [BackupRecord] = [
        .start([1]), .account([2, 3]), .item("a"), .piece([4]), .piece([5, 6]), .endOfItem, .item("b"), .endOfItem,
        .account([]), .end,
    ]

    private func parse(_ bytes: [UInt8], by size: Int = 1_000) throws -> (records: [BackupRecord], isComplete: Bool) {
        var parser = BackupParser()
        var found: [BackupRecord] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            parser.append(Array(bytes[start..<min(start + size, bytes.count)]))
            while let record = try parser.next() { found.append(record) }
        }
        return (found, parser.isComplete)
    }

    @Test(arguments: [1, 2, 3, 7, 1_000])
    func `when a stream comes in pieces, then all records appear`(size: Int) throws {
        let (found, isComplete) = try parse(records.flatMap(\.bytes), by: size)
        #expect(found == records && isComplete)
    }

    @Test func `when an end comes early, then the stream is incomplete`() throws {
        let bytes = records.flatMap(\.bytes)
        for count in 0..<bytes.count { #expect(try !parse(Array(bytes.prefix(count))).isComplete) }
        #expect(throws: VaultError.self) { try parse(bytes + [0]) }
        #expect(throws: VaultError.self) { try parse(bytes + BackupRecord.end.bytes) }
    }

    @Test func `when damage is random, then the parser never traps`() throws {
        let whole = records.flatMap(\.bytes)
        var random = UInt64(88_172_645_463_325_252)
        func next(_ limit: Int) -> Int {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return Int(random % UInt64(limit))
        }
        for _ in 0..<50_000 {
            var bytes = whole
            for _ in 0...next(3) {
                switch next(3) {
                case 0: bytes[next(bytes.count)] = UInt8(truncatingIfNeeded: next(256))
                case 1: bytes.insert(UInt8(truncatingIfNeeded: next(8)), at: next(bytes.count))
                default: if bytes.count > 1 { bytes.remove(at: next(bytes.count)) }
                }
            }
            guard let (found, isComplete) = try? parse(bytes, by: 1 + next(20)) else { continue }
            #expect(isComplete == (found.last == .end))
        }
    }

    @Test func `when records are out of order, then parsing fails`() throws {
        for wrong in [
            [BackupRecord.account([])], [.end], [.start([]), .start([])], [.start([]), .item("a")],
            [.start([]), .account([]), .piece([1])], [.start([]), .account([]), .endOfItem],
            [.start([]), .account([]), .item("a"), .item("b")], [.start([]), .account([]), .item("a"), .end],
            [.start([]), .account([]), .item("a"), .account([])],
        ] {
            #expect(throws: VaultError.self) { try parse(wrong.flatMap(\.bytes)) }
        }
    }

    @Test func `when a length or name is wrong, then parsing fails`() throws {
        let start = BackupRecord.start([]).bytes + BackupRecord.account([]).bytes
        let wrong: [[UInt8]] = [
            [1, 0xFF, 0xFF, 0xFF, 0xFF], [1, 0, 0, 0x10, 1], start + [2, 0, 0x10, 0, 1], start + [7, 0, 0, 0, 0],
            start + [0, 0, 0, 0, 0], start + [6, 0, 0, 0, 1], start + [3, 0, 0, 0, 0], start + [3, 0, 0, 1, 0],
            start + [3, 0, 0, 0, 1, 0xFF], start + [3, 0, 0, 0, 1, 10],
            start + [3, 0, 0, 0, 6] + Array("vault/".utf8), start + BackupRecord.item("a").bytes + [4, 0, 1, 0, 1],
        ]
        for bytes in wrong { #expect(throws: VaultError.self, "\(bytes)") { try parse(bytes) } }
        let piece = BackupRecord.piece([UInt8](repeating: 0, count: 65_536)).bytes
        var parser = BackupParser()
        parser.append(start + BackupRecord.item("a").bytes)
        var count = 0
        let error = #expect(throws: VaultError.self) {
            while count < 300 {
                parser.append(piece)
                count += 1
                while try parser.next() != nil {}
            }
        }
        #expect(error?.code == .backupInvalid && count == 257)
    }
}

extension BackupImport {
    fileprivate static func of(_ items: [ItemName], kept: [ItemName] = []) -> BackupImport {
        BackupImport(items: items, keptItems: kept, aliasWasTaken: false)
    }
}
