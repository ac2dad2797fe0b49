import Foundation
import TestSupport
import Testing
import VaultCrypto
import VaultUnlock

/// A secret that a rule judged must not stay in memory.
@Suite struct NewPasswordRuleMemoryTests {
    @Test func `when a password is judged, then no copy remains`() async {
        await #expect(processExitsWith: .success) {
            let hidden = try HiddenBytes.digits(count: 24)
            let password = try hidden.revealed()
            #expect(NewPasswordRule.objection(to: password, names: ["alice", "alice@example.com"]) == nil)
            #expect(try hidden.occurrences() == 1)
        }
    }

    @Test func `when letters are judged, then no lower-case copy remains`() async {
        await #expect(processExitsWith: .success) {
            let upper = try HiddenBytes.digits(count: 24)
            // A to J stand for 0 to 9. Only the digits and the letters' halves were ever in memory.
            let password = try SecretBytes(count: 24) { target in
                upper.write(into: target)
                for index in target.indices { target[index] += 0x41 - 0x30 }
            }
            let lower = try SecretBytes(count: 24) { target in
                upper.write(into: target)
                for index in target.indices { target[index] += 0x61 - 0x30 }
            }
            let (hidden, folded) = (HiddenBytes(password), HiddenBytes(lower))
            _ = NewPasswordRule.objection(to: password, names: ["alice"])
            #expect(try hidden.occurrences() == 1)
            #expect(try folded.occurrences() == 1)
            #expect(lower.count == 24)
        }
    }
}
