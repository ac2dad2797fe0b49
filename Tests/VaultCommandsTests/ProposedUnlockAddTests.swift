import CredentialVault
import Testing

@testable import VaultCommands

/// The commands that `vault` proposes to add an unlock method.
struct ProposedUnlockAddTests {
    @Test(arguments: MethodKind.all.map(\.kind))
    func `when a command adds an unlock method, then it names a known kind`(_ kind: Keyslot.Kind) throws {
        guard let words = kind.adding else {
            #expect(kind == .password)
            return
        }
        #expect(words.hasPrefix("unlock add "))
        #expect(AddedMethod(argument: String(words.dropFirst("unlock add ".count))) != nil)
    }

    @Test func `when hardware belongs to an app, then no command adds it`() {
        #expect(Keyslot.Kind(rawValue: "badge; ls").adding == nil)
    }
}
