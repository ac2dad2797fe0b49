import CredentialVault
import Foundation
import Testing
import VaultTesting

/// The state of an account, as an app shows it without a secret.
@Suite struct StorageStateTests {
    private static let password = "tea at half past four"
    private let test = TestVault()
    private let alice: AccountID
    private let session: Session
    private let other = AccountID(issuer: "https://other.example.com", subject: "2")

    init() async throws {
        alice = try await test.addAccount("alice", password: Self.password)
        session = try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
    }

    private func addOther(email: String) async throws {
        let account = Account(
            id: other, email: email, clientID: "x", keyServiceURL: "x", deviceSecret: [], createdAt: test.clock.now)
        try await test.store.apply([.putAccount(account)], to: other)
    }

    @Test func `when an account is closed, then its item names are readable`() async throws {
        try await session.items.set("notes", to: Array("tea".utf8))
        await test.auth.lock()
        #expect(try await test.storage.itemNames(of: alice).map(\.rawValue) == ["notes"])
        #expect(try await test.storage.hasItem("notes", of: alice))
        #expect(try await !test.storage.hasItem("photos", of: alice))
        #expect(try await test.storage.hasItem(.refreshToken, of: alice))
        #expect(try await test.storage.itemNames(of: other).isEmpty)
    }

    @Test func `when an account is registered, then only that account is found`() async throws {
        #expect(try await test.storage.registeredAccount(alice)?.id == alice)
        #expect(try await test.storage.registeredAccount(other) == nil)
    }

    @Test func `when the password opens offline, then the end is known`() async throws {
        #expect(try await test.storage.endOfOpeningOffline(of: alice) == nil)
        try await session.addOffline(password: SecretBytes(utf8: Self.password))
        let end = try #require(try await test.storage.endOfOpeningOffline(of: alice))
        #expect(end > test.clock.now)
    }

    @Test func `when items and a PIN exist, then both are losses`() async throws {
        #expect(try await test.storage.lossesByNewPassword(of: alice).isEmpty)
        try await session.items.set("notes", to: Array("tea".utf8))
        try await session.setPIN(SecretBytes(utf8: "8264"))
        let losses = try await test.storage.lossesByNewPassword(of: alice)
        #expect(losses.count == 2 && losses.first == "notes")
        #expect(try await test.storage.lossesByNewPassword(of: other).isEmpty)
    }

    @Test func `when another account has the name, then the subject is unique`() async throws {
        let name = try await test.storage.account(alice).displayName
        #expect(try await test.storage.uniqueName(of: alice) == name)
        try await addOther(email: name)
        #expect(try await test.storage.uniqueName(of: alice) == alice.subject)
    }

    @Test func `when another account has the name, then the alias is taken`() async throws {
        try await test.storage.checkAlias("desk", of: alice)
        try await addOther(email: "desk")
        let error = await #expect(throws: VaultError.self) {
            try await test.storage.checkAlias("desk", of: alice)
        }
        #expect(error?.code == .aliasTaken)
    }

    @Test func `when an alias is set, then only names change`() async throws {
        let before = try await test.storage.account(alice)
        try await test.storage.setAlias("desk", of: alice)
        #expect(try await test.storage.account(userID: "desk").id == alice)
        var after = try await test.storage.account(alice)
        #expect(after.displayName == "desk" && session.isOpen)
        after.alias = before.alias
        #expect(after == before)
        try await test.storage.setAlias(nil, of: alice)
        #expect(try await test.storage.account(alice).displayName == before.displayName)
    }

    @Test func `when an alias is refused, then the old one stays`() async throws {
        try await test.storage.setAlias("desk", of: alice)
        try await addOther(email: "mail")
        for (alias, code) in [("mail", VaultError.Code.aliasTaken), ("a\nb", .configurationInvalid)] {
            let error = await #expect(throws: VaultError.self) {
                try await test.storage.setAlias(alias, of: alice)
            }
            #expect(error?.code == code)
        }
        let unknown = await #expect(throws: VaultError.self) {
            try await test.storage.setAlias("new", of: AccountID(issuer: "https://other.example.com", subject: "3"))
        }
        #expect(unknown?.code == .accountNotFound)
        #expect(try await test.storage.account(alice).alias == "desk")
    }

    @Test func `when guesses were never reported, then there are none`() async throws {
        #expect(try await test.storage.guessesElsewhere(of: alice) == nil)
        try await test.storage.checkWritable()
    }

    @Test func `when the policy allows only passwords, then others are refused`() throws {
        let policy = VaultPolicy(allowedUnlockMethods: [.password], allowedKeyServices: ["https://keys.example.com"])
        try policy.requireAllowed(.password)
        try policy.requireAllowed(keyService: "https://keys.example.com")
        let errors = [
            #expect(throws: VaultError.self) { try policy.requireAllowed(.pin) },
            #expect(throws: VaultError.self) { try policy.requireBackupsAllowed() },
            #expect(throws: VaultError.self) { try policy.requireAllowed(keyService: "https://other.example.com") },
        ]
        for error in errors {
            #expect(error?.code == .forbiddenByPolicy)
            #expect(error?.policyObjection != nil)
        }
    }
}
