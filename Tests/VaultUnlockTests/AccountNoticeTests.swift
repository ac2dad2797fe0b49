import Foundation
import Testing
import VaultStorage
import VaultStorageTestSupport

@testable import VaultUnlock

/// The text of a notice about guesses that were not made with this store.
@Suite struct AccountNoticeTests {
    private func text(lastGuess: Double, lastUse: Double) -> String {
        var slot = Keyslot.example("1")
        slot.lastUsedAt = Date(timeIntervalSince1970: lastUse)
        let last = Date(timeIntervalSince1970: lastGuess)
        let id = Account.example("alice").id
        return AccountNotice.wrongGuesses(2, last: last, at: slot, of: id, .done).description
    }

    @Test func `when the last guess is older, then no start is named`() {
        #expect(text(lastGuess: 2000, lastUse: 1000).hasPrefix("2 wrong passwords were tried since "))
        #expect(text(lastGuess: 1000, lastUse: 2000).hasPrefix("2 wrong passwords were tried, the last one at "))
    }
}
