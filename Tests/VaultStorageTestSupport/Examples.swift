internal import Foundation
internal import VaultCrypto
package import VaultStorage

package let issuer = "https://login.example.com"

extension Account {
    package static func example(
        _ subject: String, issuer: String = issuer, alias: String? = nil, email: String? = nil,
        preferredUsername: String? = nil, clientID: String = "app", createdAt: Double = 1_800_000_000
    ) -> Account {
        Account(
            id: AccountID(issuer: issuer, subject: subject), alias: alias, email: email,
            preferredUsername: preferredUsername, clientID: clientID, keyServiceURL: "https://keys.example.com",
            deviceSecret: [UInt8](repeating: 7, count: 32), createdAt: Date(timeIntervalSince1970: createdAt))
    }
}

extension Keyslot {
    package static func example(_ id: String, createdAt: Double = 1_800_000_000) -> Keyslot {
        Keyslot(
            id: id, kind: .password, salt: [UInt8](0..<16), argon2: .insecureForTests, keyID: "key of \(id)",
            keyServiceProtocol: 1, wrapped: [1, 2, 3], createdAt: Date(timeIntervalSince1970: createdAt))
    }
}
