import Foundation
import Testing
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// The list of keys that must still be ended, and the note of wrong guesses.
struct RetiredKeysTests {
    private let alice = AccountID(issuer: issuer, subject: "alice")

    private func key(_ id: String) -> RetiredKey { RetiredKey(id: id, keyServiceURL: "https://keys.example.com") }

    @Test(arguments: StoreKind.allCases)
    func `when keys retire, then the list keeps each one once`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let list = RetiredKeys(store: store)
            #expect(try await list.all() == [])
            try await store.apply(
                [RetiredKeys.adding([key("1"), key(""), key("2")]), .putAccount(.example("alice"))], to: alice)
            try await list.add([key("2"), key("3")])
            #expect(try await list.all() == [key("1"), key("2"), key("3")])
            try await list.remove([key("2"), key("7")])
            #expect(try await list.all() == [key("1"), key("3")])
            try await list.remove([key("1"), key("3")])
            #expect(try await list.all() == [])
            #expect(try await store.withRecord("retired-keys") { $0 } == nil)
        }
    }

    @Test func `when a retired-key line is damaged, then other lines stay`() async throws {
        let store = InMemoryStore()
        let list = RetiredKeys(store: store)
        try await list.add([key("1"), key("2")])
        let damage = Array("{\"id\":\u{FFFD}".utf8) + [0xFF]
        try await store.withRecord("retired-keys") { $0 = damage + [10] + ($0 ?? []) + [10, 10] + damage }
        #expect(try await list.all() == [key("1"), key("2")])
        try await list.add([key("3")])
        try await list.remove([key("1")])
        #expect(try await list.all() == [key("2"), key("3")])
        try await list.remove([key("2"), key("3")])
        #expect(try await store.withRecord("retired-keys") { $0 } == damage + [10] + damage)
    }

    @Test func `when guesses are wrong, then each keyslot's note counts them`() async throws {
        let store = InMemoryStore()
        let noted = KeyslotNotes(store: store, account: alice)
        let (one, two) = (Keyslot.example("1"), Keyslot.example("2"))
        for _ in 0..<2 { try await noted.noteWrong(one) }
        try await noted.noteWrong(two)
        #expect(try await noted.reading().wrongGuesses(of: one) == 2)
        try await noted.forgetWrong(one)
        #expect(try await noted.reading().wrongGuesses(of: one) == 0)
        #expect(try await noted.reading().wrongGuesses(of: two) == 1)
        try await store.apply([.putAccount(.example("alice")), .removeAccount], to: alice)
        #expect(try await noted.reading().wrongGuesses(of: two) == 0, "it goes with the account")
    }

    @Test(arguments: [
        "", "nonsense", "{\"refusals\":{},\"wrong\":{\"1\":-5}}",
        "{\"refusals\":{},\"wrong\":{\"1\":9223372036854775807}}", "{\"refusals\":{},\"wrong\":{\"1\":1e300}}", "[1]",
        "\u{0}",
    ])
    func `when a keyslot note is damaged, then counts stay bounded`(text: String) async throws {
        let store = InMemoryStore()
        let noted = KeyslotNotes(store: store, account: alice)
        try await store.withRecord(alice.recordPrefix + "keyslot-notes") { $0 = Array(text.utf8) }
        #expect((0...1_000_000).contains(try await noted.reading().wrongGuesses(of: .example("1"))))
        try await noted.noteWrong(.example("1"))
        #expect((1...1_000_000).contains(try await noted.reading().wrongGuesses(of: .example("1"))))
    }
}
