import Foundation
import KeyServiceClient
import Testing
import VaultBase
import VaultTesting

@testable import VaultStorage
@testable import VaultUnlock

/// The label of a key at the key service, and the devices that are made from labels.
struct DeviceLabelTests {
    private static let id = AccountID(issuer: "https://login.example.com", subject: "alice")
    private static let key = "0190f3a2-5b1c-4d7e-8a61-3c2f9e7d4b10"
    private let vaultKey: VaultKey
    private let tag = (0..<16).map { UInt8($0 * 16) }

    init() throws { vaultKey = try VaultKey.random() }

    private func account(_ secret: UInt8 = 7) -> Account {
        Account(
            id: Self.id, clientID: "app", keyServiceURL: "https://keys.example",
            deviceSecret: [UInt8](repeating: secret, count: 32), createdAt: .now)
    }

    @Test(arguments: [
        "", "a", "laptop", String(repeating: "x", count: 5000), String(repeating: "\"\\", count: 400),
        String(repeating: "👨‍👩‍👧‍👦", count: 100), String(repeating: "\u{1}", count: 300), String(repeating: "é/", count: 200),
    ])
    func `when labels have different names, then their sizes are equal`(name: String) async throws {
        for kind in [Keyslot.Kind.pin, .init(rawValue: String(repeating: "k", count: 60)), nil] {
            let label = try DeviceLabel(shortening: name, kind)
            let sealed = try await label.sealed(Self.key, tag: tag, of: Self.id, vaultKey)
            let usual = try await DeviceLabel("a", .pin).sealed(Self.key, tag: tag, of: Self.id, vaultKey)
            #expect(sealed.count == usual.count)
            // The other algorithm has a nonce of 24 bytes instead of 12.
            #expect(sealed.count + 12 <= 512)
            #expect(name.hasPrefix(label.name) && (label.name == name || name.utf8.count > 150))
            #expect(try await DeviceLabel.opened(sealed, of: Self.key, Self.id, vaultKey) == label)
        }
    }

    @Test func `when a name has 100 letters, then its label fits`() throws {
        #expect(try DeviceLabel.fits(String(repeating: "é", count: 100)))
        #expect(try !DeviceLabel.fits(String(repeating: "👨‍👩‍👧‍👦", count: 100)))
    }

    @Test func `when a key or account differs, then no label opens`() async throws {
        let sealed = try await DeviceLabel("laptop", .password).sealed(Self.key, tag: tag, of: Self.id, vaultKey)
        let other = try VaultKey.random()
        let bob = AccountID(issuer: Self.id.issuer, subject: "bob")
        #expect(try await DeviceLabel.opened(sealed, of: Self.key, Self.id, other) == nil)
        #expect(try await DeviceLabel.opened(sealed, of: Self.key, bob, vaultKey) == nil)
        #expect(try await DeviceLabel.opened(sealed, of: Self.key + "0", Self.id, vaultKey) == nil)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(try await DeviceLabel.opened(changed, of: Self.key, Self.id, vaultKey) == nil, "\(index)")
        }
        for count in [0, 15, 16, 17, 60] {
            #expect(
                try await DeviceLabel.opened(Array(sealed.prefix(count)), of: Self.key, Self.id, vaultKey) == nil)
        }
    }

    @Test func `when an account is registered again, then its tag changes`() throws {
        let tag = try DeviceLabel.tag(of: account())
        #expect(try tag.count == 16 && tag == DeviceLabel.tag(of: account()))
        #expect(try tag != DeviceLabel.tag(of: account(8)) && tag != Array(account().deviceSecret.prefix(16)))
        #expect(Hexadecimal.text([0, 1, 0xAB]) == "0001ab")
    }

    private func key(
        _ number: Int, _ device: String, name: String? = nil, _ kind: Keyslot.Kind? = nil, used: Double? = nil,
        isLocked: Bool = false
    ) -> IdentifiedKey {
        IdentifiedKey(
            key: ListedKey(
                id: "\(number)", label: nil, createdAt: Date(timeIntervalSince1970: Double(number)),
                lastUsedAt: used.map(Date.init(timeIntervalSince1970:)), isLocked: isLocked),
            device: device, name: name, kind: kind)
    }

    @Test func `when keys share a device, then one entry shows them`() {
        let devices = AccountDevice.devices(
            of: [
                key(3, "b", name: "new name", used: 50, isLocked: true), key(2, "a", name: "old", .pin),
                key(1, "b", name: "old name", used: 70), key(4, "c", isLocked: true),
            ], own: "a", ownName: "here")
        #expect(devices.map(\.id) == ["b", "a", "c"])
        #expect(devices.map(\.name) == ["new name", "here", nil])
        #expect(devices.map(\.isThisDevice) == [false, true, false])
        #expect(devices.map(\.isLocked) == [false, false, true])
        #expect(devices[0].keys.map(\.id) == ["1", "3"] && devices[1].keys[0].kind == .pin)
        #expect(devices[0].createdAt == Date(timeIntervalSince1970: 1))
        #expect(devices.map { $0.lastUsedAt?.timeIntervalSince1970 } == [70, nil, nil])
    }

    /// Somebody with an access token can give a lost machine the tag of another one.
    @Test func `when a key is unreadable, then named devices exclude it`() {
        let devices = AccountDevice.devices(
            of: [key(1, "a"), key(2, "b", name: "phone"), key(3, "b"), key(4, "c"), key(5, "c"), key(6, "a")],
            own: "a", ownName: "here")
        #expect(devices.map(\.name) == [nil, "phone", nil, nil, nil])
        #expect(devices.map { $0.keys.map(\.id) } == [["1"], ["2"], ["3"], ["4", "5"], ["6"]])
        #expect(devices.map(\.isThisDevice) == [false, false, false, false, false])
    }
}

/// The record of the signatures that the service does not have yet.
struct DeviceRecordTests {
    private static let id = AccountID(issuer: "https://login.example.com", subject: "alice")
    private let store = InMemoryStore()
    private let now = Date(timeIntervalSince1970: 1_700_000_000)
    private var record: DeviceRecord { DeviceRecord(store: store, account: Self.id) }

    private func bytes() async throws -> [UInt8]? {
        try await store.withRecord(Self.id.recordPrefix + "device") { $0 }
    }

    /// The keys that are signed now, without a signature to keep.
    private func signed(_ keys: Set<String>) async throws -> Set<String> {
        let asked = Asked()
        let change = record.signing(keys) { key in
            asked.add(key)
            return nil
        }
        try await store.apply([change], to: Self.id)
        return asked.keys
    }

    private final class Asked: Sendable {
        private let all = Lock<Set<String>>([])
        var keys: Set<String> { all.withLock { $0 } }
        func add(_ key: String) { all.withLock { _ = $0.insert(key) } }
    }

    @Test func `when a claim fails, then it repeats after an hour`() async throws {
        try await store.apply([record.adding(["a": [1], "b": [2], "gone": [3]])], to: Self.id)
        #expect(try await signed(["a", "c"]) == ["c"])
        #expect(try await record.begin(["a", "b"], at: now, isAsked: false) == ["a": [1], "b": [2]])
        try await record.finish(["a"], isComplete: false)
        for seconds in [0.0, 3599, -3599] {
            #expect(try await record.begin(["a", "b"], at: now + seconds, isAsked: false).isEmpty, "\(seconds)")
        }
        #expect(try await record.begin(["a", "b"], at: now + 1, isAsked: true) == ["b": [2]])
        #expect(try await record.begin(["a", "b"], at: now + 3601, isAsked: false) == ["b": [2]])
        // A clock that was set back does not stop it for years.
        #expect(try await record.begin(["a", "b"], at: now - 100_000, isAsked: false) == ["b": [2]])
        try await record.finish(["b"], isComplete: true)
        #expect(try await record.begin(["a", "b"], at: now, isAsked: true).isEmpty)
        #expect(try await signed(["a", "b", "gone"]) == ["gone"], "answered keys are not signed again")
        try await store.apply([record.adding(["a": [9], "c": [4]])], to: Self.id)
        #expect(try await record.begin(["a", "b", "c"], at: now, isAsked: false) == ["c": [4]])
    }

    @Test func `when an answer was lost, then a new key does not hide that`() async throws {
        try await store.apply([record.adding(["a": [1]])], to: Self.id)
        #expect(try await record.mayHaveSent(["a"]) == false)
        _ = try await record.begin(["a"], at: now, isAsked: false)
        try await record.finish([], isComplete: false)
        try await store.apply([record.adding(["b": [2]])], to: Self.id)
        // The service may have put the first key on its list.
        #expect(try await record.mayHaveSent(["a", "b"]))
        // The new key does not wait for an hour.
        #expect(try await record.begin(["a", "b"], at: now + 60, isAsked: false) == ["a": [1], "b": [2]])
    }

    @Test func `when the account is gone, then nothing is written`() async throws {
        #expect(try await record.begin(["a"], at: now, isAsked: true).isEmpty)
        try await record.finish(["a"], isComplete: true)
        #expect(try await bytes() == nil)
    }

    @Test func `when no name is chosen, then the host's name counts`() async throws {
        #expect(try await record.name() == HostName.present && !HostName.present.isEmpty)
        try await record.rename(to: "laptop")
        #expect(try await record.name() == "laptop")
        try await store.withRecord(Self.id.recordPrefix + "device") { $0 = [1, 2, 3] }
        #expect(try await record.name() == HostName.present)
    }
}
