package import KeyServiceClient
package import Logging
internal import VaultStorage

/// As ``LoggedKeyService``, for the lists of devices.
package struct LoggedDeviceListService: DeviceListService {
    private let base: any DeviceListService
    private let logger: Logger

    package init(base: any DeviceListService, logger: Logger) {
        self.base = base
        self.logger = logger
    }

    package func keepsLists() async throws -> Bool {
        try await logged("told whether it keeps lists of devices") { try await base.keepsLists() }
    }

    package func claimTime() async throws -> Duration? {
        try await logged("told whether unclaimed keys end") { try await base.claimTime() }
    }

    package func listedKeys(accessToken: String) async throws -> [ListedKey] {
        try await logged("listed the devices") { try await base.listedKeys(accessToken: accessToken) }
    }

    package func claimKey(id: String, signature: [UInt8], accessToken: String) async throws {
        try await logged("put a key on its owner's list") {
            try await base.claimKey(id: id, signature: signature, accessToken: accessToken)
        }
    }

    package func renameKey(id: String, label: [UInt8], accessToken: String) async throws {
        try await logged("took a label") { try await base.renameKey(id: id, label: label, accessToken: accessToken) }
    }

    package func revokeKey(id: String, accessToken: String) async throws {
        try await logged("revoked a key") { try await base.revokeKey(id: id, accessToken: accessToken) }
    }

    private func logged<R>(_ done: String, _ call: () async throws -> R) async throws -> R {
        do {
            let result = try await call()
            logger.debug("key service: \(done)")
            return result
        } catch {
            logger.notice(
                "key service: a call about devices failed", metadata: ["error": Logger.code(of: error)])
            throw error
        }
    }
}
