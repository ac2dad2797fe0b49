import Testing

@testable import VaultCommands

/// The commands that `vault` proposes.
struct ProposedTests {
    @Test(arguments: [
        (["login", "--pin"], "vault login --password"), (["login"], "vault login --password"),
        (["exec", "--pin", "--", "sh", "-c", "x --pin"], "vault exec --password -- sh -c 'x --pin'"),
        (["item", "get", "it's mine", "--pin"], "vault item get 'it'\\''s mine' --password"),
    ])
    func `when a command is typed again, then another option replaces the old one`(_ words: [String], _ text: String) {
        #expect(Proposed.typed(words, with: "--password", insteadOf: "--pin") == text)
    }

    @Test(arguments: ["a\nb", "\u{1B}[2J", String(repeating: "long", count: 30)])
    func `when a command does not fit into a message, then it is not shown`(_ word: String) {
        #expect(Proposed.typed(["item", "get", word]) == nil)
    }
}
