internal import Foundation

/// The tokens of one account as sealed items.
package struct TokenItems: Sendable {
    package let store: any SecureStore
    package let id: AccountID
    package let vaultKey: VaultKey

    package init(store: any SecureStore, id: AccountID, vaultKey: VaultKey) {
        self.store = store
        self.id = id
        self.vaultKey = vaultKey
    }

    package func accessToken() async throws -> AccessToken? {
        try await open(.accessToken, as: AccessToken.self)
    }

    package func credential() async throws -> Credential? {
        try await open(.refreshToken, as: Credential.self)
    }

    package func claims() async throws -> [UInt8]? {
        guard let sealed = try await store.item(.idTokenClaims, of: id) else { return nil }
        return try await vaultKey.open(sealed, as: .idTokenClaims, of: id)
    }

    /// Opens an access token that was read from the store before.
    package func accessToken(_ sealed: [UInt8]) async throws -> AccessToken {
        try await opened(sealed, .accessToken, as: AccessToken.self)
    }

    private func open<T: Decodable>(_ name: ItemName, as type: T.Type) async throws -> T? {
        guard let sealed = try await store.item(name, of: id) else { return nil }
        return try await opened(sealed, name, as: type)
    }

    private func opened<T: Decodable>(_ sealed: [UInt8], _ name: ItemName, as type: T.Type) async throws -> T {
        let content = try await vaultKey.open(sealed, as: name, of: id)
        do {
            return try JSONDecoder().decode(type, from: Data(content))
        } catch {
            throw StoreError(
                .corrupt, "The stored item \(name) of \(id) is damaged: it has another form than the vault writes.")
        }
    }

    /// The last ID token as it was signed.
    package func idToken() async throws -> String? {
        guard let sealed = try await store.item(.idToken, of: id) else { return nil }
        return String(decoding: try await vaultKey.open(sealed, as: .idToken, of: id), as: UTF8.self)
    }

    package func put(_ credential: Credential) async throws -> StoreChange {
        try await put(.refreshToken, Array(JSONEncoder().encode(credential)))
    }

    package func put(_ token: AccessToken) async throws -> StoreChange {
        try await put(.accessToken, Array(JSONEncoder().encode(token)))
    }

    package func put(idToken: String) async throws -> StoreChange {
        try await put(.idToken, Array(idToken.utf8))
    }

    package func put(claimsJSON: [UInt8]) async throws -> StoreChange {
        try await put(.idTokenClaims, claimsJSON)
    }

    private func put(_ name: ItemName, _ content: [UInt8]) async throws -> StoreChange {
        .putItem(name, try await vaultKey.seal(content, as: name, of: id))
    }
}
