import TestSupport
import Testing
import VaultBiometric
import VaultCrypto

/// A secret that a rule judged must not stay in memory.
@Suite struct PINRuleMemoryTests {
    @Test(arguments: [24, 64])
    func `when a PIN is judged, then memory holds no copy`(length: Int) async {
        await #expect(processExitsWith: .success) { [length = length as Int] in
            let hidden = try HiddenBytes.digits(count: length)
            let pin = try hidden.revealed()
            _ = PINRule.objection(to: pin, names: ["alice", "alice@example.com"])
            #expect(try hidden.occurrences() == 1)
            // The digits as numbers are also the secret.
            let numbers = try SecretBytes(count: length) { target in
                hidden.write(into: target)
                for index in target.indices { target[index] -= 0x30 }
            }
            let hiddenNumbers = HiddenBytes(numbers)
            _ = PINRule.objection(to: pin, names: ["alice"])
            #expect(try hiddenNumbers.occurrences() == 1)
            #expect(pin.count == length && numbers.count == length)
        }
    }
}
