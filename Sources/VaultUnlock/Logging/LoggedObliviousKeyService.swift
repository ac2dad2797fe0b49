package import Foundation
package import KeyServiceClient
package import Logging
package import VaultCrypto
internal import VaultStorage

/// As ``LoggedKeyService``, for protocol version 2.
package struct LoggedObliviousKeyService: ObliviousKeyService {
    private let base: any ObliviousKeyService
    private let logger: Logger

    package init(base: any ObliviousKeyService, logger: Logger) {
        self.base = base
        self.logger = logger
    }

    package func protocolVersions() async throws -> Set<Int> {
        try await logged("told its versions", "did not tell its versions") { try await base.protocolVersions() }
    }

    package func createKey(_ key: NewObliviousKey) async throws -> FirstEvaluation {
        try await logged("made a key", "did not make a key") { try await base.createKey(key) }
    }

    package func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        let key = SharedSecret(try requestKey.copy())
        return try await logged("evaluated a try", "did not evaluate a try") {
            try await base.evaluate(id, blinded, requestKey: key.bytes, at: date)
        }
    }

    package func confirm(_ confirmation: KeyConfirmation) async throws {
        try await logged("took a confirmation", "did not take a confirmation") { try await base.confirm(confirmation) }
    }

    package func endKey(id: String, signature: [UInt8]) async throws {
        try await logged("ended a key", "did not end a key") {
            try await base.endKey(id: id, signature: signature)
        }
    }

    private func logged<R>(_ done: String, _ failed: String, _ call: () async throws -> R) async throws -> R {
        do {
            let result = try await call()
            logger.debug("key service: \(done)")
            return result
        } catch {
            logger.notice("key service: \(failed)", metadata: ["error": Logger.code(of: error)])
            throw error
        }
    }
}
