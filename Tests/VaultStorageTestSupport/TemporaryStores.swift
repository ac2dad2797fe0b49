internal import Foundation
internal import VaultSQLite
package import VaultStorage
internal import VaultTesting

/// Runs `body` with an empty folder (mode 0700) that is removed afterwards.
package func withTemporaryFolder<R>(_ body: (String) async throws -> R) async throws -> R {
    let folder = FileManager.default.temporaryDirectory.path() + "vault-storage-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}

/// The kinds of stores that must keep the same promises.
package enum StoreKind: CaseIterable, Sendable {
    case sqlite
    case inMemory

    /// - Parameter clock: measures the wait for a lock.
    package func withStore<R>(
        clock: any Clock<Duration> = ContinuousClock(), _ body: (any SecureStore) async throws -> R
    ) async throws -> R {
        switch self {
        case .inMemory: try await body(InMemoryStore())
        case .sqlite: try await withTemporaryFolder { try await body(SQLiteStore(folder: $0, clock: clock)) }
        }
    }
}
