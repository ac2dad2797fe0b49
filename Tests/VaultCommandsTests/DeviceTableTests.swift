import CredentialVault
import Foundation
import Testing

@testable import VaultCommands

/// The column LOCKED of `vault devices list`.
struct DeviceTableTests {
    private func locked(_ keys: [(kind: Keyslot.Kind?, isLocked: Bool)]) -> String? {
        let device = AccountDevice(
            id: String(repeating: "a", count: 32),
            keys: keys.map {
                AccountDevice.Key(id: UUID().uuidString, kind: $0.kind, createdAt: Date(), isLocked: $0.isLocked)
            })
        return Table([device]).rows.last?.last
    }

    @Test func `when keys are locked, then the column names or counts them`() {
        #expect(locked([(.password, false), (.pin, false)]) == "no")
        #expect(locked([(.password, false), (.pin, true)]) == "pin")
        #expect(locked([(.password, true), (.pin, true)]) == "yes")
        // Only the other machine can read which unlock methods these are.
        #expect(locked([(nil, true), (nil, false)]) == "1 of 2")
        #expect(locked([(nil, true), (nil, true)]) == "yes")
    }
}
