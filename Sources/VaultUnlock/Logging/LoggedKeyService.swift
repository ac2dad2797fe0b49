package import KeyServiceClient
package import Logging
package import VaultCrypto
internal import VaultStorage

/// A key service that logs its calls and their results. The log gets no secrets, keys or ids of keys.
package struct LoggedKeyService: KeyService {
    private let base: any KeyService
    private let logger: Logger

    package init(base: any KeyService, logger: Logger) {
        self.base = base
        self.logger = logger
    }

    package func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
        do {
            let key = try await base.createKey(secret: secret)
            tell("made a key")
            return key
        } catch { throw told(error, "did not make a key") }
    }

    package func releaseKey(
        id: String, secret: borrowing SecretBytes, kind: KeySecretKind
    ) async throws -> ReleasedKey {
        do {
            let key = try await base.releaseKey(id: id, secret: secret, kind: kind)
            tell("released a key")
            return key
        } catch { throw told(error, "did not release a key") }
    }

    package func checkReachable() async throws {
        do {
            try await base.checkReachable()
            tell("answers")
        } catch { throw told(error, "does not answer") }
    }

    package func endKey(id: String) async throws {
        do {
            try await base.endKey(id: id)
            tell("ended a key")
        } catch { throw told(error, "did not end a key") }
    }

    private func tell(_ what: String) { logger.debug("key service: \(what)") }

    private func told(_ error: any Error, _ what: String) -> any Error {
        logger.notice("key service: \(what)", metadata: ["error": Logger.code(of: error)])
        return error
    }
}
