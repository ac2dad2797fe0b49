import Foundation
import KeyServiceClient
import OpenIDConnect
import VaultAuth
import VaultCrypto
import VaultHTTP
import VaultStorage
import VaultTesting

/// The key service as one program of a ``VaultKeyWorld`` sees it: a request or its answer may be lost.
struct SteppedKeyService: OPRFKeyService {
    let world: VaultKeyWorld
    let base: InMemoryOPRFKeyService
    let life: Life

    func protocolVersions() async throws -> Set<Int> { try await base.protocolVersions() }

    func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation {
        try await calling("create") { try await base.createKey(key) }
    }

    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        let requestKey = SharedSecret(try requestKey.copy())
        return try await calling("evaluate") {
            try await base.evaluate(id, blinded, requestKey: requestKey.bytes, at: date)
        }
    }

    func confirm(_ confirmation: KeyConfirmation) async throws {
        guard confirmation.installation == nil else {
            return try await calling("install") { try await base.confirm(confirmation) }
        }
        // It is sent beside other work.
        guard life.isAlive else { throw Life.Crashed() }
        try await base.confirm(confirmation)
    }

    func endKey(id: String, signature: [UInt8]) async throws {
        try await calling("end") { try await base.endKey(id: id, signature: signature) }
    }

    private func calling<R: Sendable>(_ name: String, _ call: () async throws -> R) async throws -> R {
        try await life.step(name)
        if world.loses(.keyServiceAnswer, life) { throw Self.lost }
        let result = try await call()
        try await life.step("answer to \(name)")
        if world.loses(.keyServiceAnswer, life) { throw Self.lost }
        return result
    }

    private static let lost = KeyServiceError(
        .unavailable, "The key service does not answer.",
        underlying: HTTPError(.interrupted, authority: "keys.example"))
}

/// The provider as one program of a ``VaultKeyWorld`` sees it. It ends the login if it gets an old token.
struct SteppedProvider: IssuerKind, TokenIssuer {
    let world: VaultKeyWorld
    let base: FakeProvider
    let life: Life

    func issues(tokensOf key: IssuerKey) -> Bool { base.issues(tokensOf: key) }
    func issuer(of key: IssuerKey, layout: StoredLayout?) throws -> any TokenIssuer { self }
    func warmUp() async {}
    func revoke(_ credential: Credential, of id: AccountID) async throws {}

    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        try await life.step("send token")
        if world.loses(.providerAnswer, life) {
            throw OpenIDConnectError(.unavailable, "the network is away", mayHaveBeenProcessed: false)
        }
        return try await base.renew(credential, of: id) { renewed in
            world.tokenWasIssued()
            try await life.step("new token")
            if world.loses(.providerAnswer, life) {
                throw OpenIDConnectError(.interrupted, "the answer is lost", mayHaveBeenProcessed: true)
            }
            do {
                try await keep(renewed)
                world.tokenWasStored()
            } catch {
                if life.isAlive { life.run.complain("A new token was not stored: \(error)") }
                throw error
            }
        }
    }
}
