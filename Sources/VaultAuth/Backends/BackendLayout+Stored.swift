internal import Foundation
internal import OpenIDConnect
internal import VaultStorage

extension SignInMethod {
    /// Whether a ``BackendLayout`` says how accounts of this method are spoken for.
    var hasLayout: Bool { [.backend, .passwordBackend, .serverOAuth, .serverToken].contains(self) }
}

extension BackendLayout {
    /// What is stored with an account: the part that its method needs, and nothing for a method without a layout.
    func stored(for method: SignInMethod) throws -> StoredLayout? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return switch method {
        case .backend: .json(Array(try encoder.encode(["browser": browser])))
        case .passwordBackend: .json(Array(try encoder.encode(["password": password])))
        case .serverOAuth, .serverToken: .json(Array(try encoder.encode(["server": server])))
        default: nil
        }
    }

    /// - Throws: ``VaultError`` with code `storeCorrupt`.
    init(_ stored: StoredLayout) throws {
        do {
            guard case .json(let bytes) = stored else { throw StoreError(.corrupt, "Its checksum is wrong.") }
            self = try JSONDecoder().decode(Self.self, from: Data(bytes))
        } catch {
            throw VaultError(
                .storeCorrupt,
                "The stored layout of the account's backend is damaged. Nothing was sent and nothing was deleted. Register again: vault register",
                underlying: error)
        }
    }
}

/// Stands for an issuer that cannot be spoken to. It sends nothing: an answer that nobody can read would cost the
/// account its token.
struct RefusingIssuer: TokenIssuer, PersonSource {
    let error: VaultError

    func warmUp() async {}

    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet { throw error }

    func revoke(_ credential: Credential, of id: AccountID) async throws { throw error }

    func person(accessToken: String) async throws -> BackendUser { throw error }
}
