import CredentialVault
import Testing
import VaultTesting

/// The use of items by a window and by an actor, with their own state in the closures. This file must compile.
@Suite struct ItemsOnActorsTests {
    private struct Note: Codable, Equatable {
        var text: String
    }

    /// A value that belongs to the window, and that no other task may touch.
    private final class Draft: Codable {
        var text = ""
    }

    @MainActor private final class Window {
        private var shown: [Note] = []
        private var size = 0

        func add(_ text: String, to session: Session) async throws -> [Note] {
            shown = try await session.items.update("notes", default: shown) { notes in
                notes.append(Note(text: text))
                size += 1
                return notes
            }
            return shown
        }

        func keep(_ draft: Draft, in session: Session) async throws -> String? {
            try await session.items.set("draft", encoding: draft)
            try await session.items.update("draft", default: draft) { $0.text += "!" }
            return try await session.items.get("draft", as: Draft.self)?.text
        }

        func size(of name: ItemName, in session: Session) async throws -> Int {
            size = 0
            try await session.items.read(name) { piece in
                MainActor.assertIsolated()
                size += piece.count
            }
            return size
        }
    }

    private actor Model {
        private var size = 0

        func size(of name: ItemName, in session: Session) async throws -> Int {
            try await session.items.update(name, default: [Note]()) { size = $0.count }
            try await session.items.read(name) { size += $0.count }
            return size
        }
    }

    @Test @MainActor func `when a window updates items, then its own state changes`() async throws {
        let test = TestVault()
        let id = try await test.addAccount("alice", password: "tea at half past four")
        let session = try await test.auth.login(id, with: .password(SecretBytes(utf8: "tea at half past four")))
        let window = Window()
        #expect(try await window.add("bandage", to: session) == [Note(text: "bandage")])
        #expect(try await window.size(of: "notes", in: session) == #"[{"text":"bandage"}]"#.utf8.count)
        let draft = Draft()
        draft.text = "bandage"
        #expect(try await window.keep(draft, in: session) == "bandage!")
        #expect(try await Model().size(of: "notes", in: session) == #"[{"text":"bandage"}]"#.utf8.count + 1)
    }
}
