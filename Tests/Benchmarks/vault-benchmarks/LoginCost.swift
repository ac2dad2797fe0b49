internal import CredentialVault
internal import Foundation
internal import VaultBase
internal import VaultCrypto

/// Measures the processor time of a login with a PIN in an app, and that of the one Argon2id that it cannot do without.
/// The provider and the key service are other processes, so their time does not count.
enum LoginCost {
    private static let pin = "749201"

    /// - Parameter session: an open account.
    /// - Returns: a function that measures both once.
    static func prepare(_ vault: Vault, _ session: Session) async throws -> () async throws -> [String: Duration] {
        let pin = try SecretBytes(utf8: pin)
        try await session.setPIN(pin)
        let shared = SharedSecret(pin)
        return {
            try await [
                "Argon2id": measured {
                    _ = try Argon2id.deriveBlocking(
                        password: SecretBytes(utf8: Self.pin), salt: Array(repeating: 7, count: 16),
                        secret: SecretBytes(copying: []), parameters: .standard)
                },
                "login with a PIN": measured { _ = try await vault.auth.login(session.id, with: .pin(shared)) },
            ]
        }
    }

    /// The processor time of all threads of this process.
    private static func measured(_ work: () async throws -> Void) async throws -> Duration {
        let begin = now()
        try await work()
        return now() - begin
    }

    private static func now() -> Duration { .microseconds(clock()) }
}
