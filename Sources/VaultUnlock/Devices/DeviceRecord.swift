internal import Foundation
internal import VaultBase
internal import VaultStorage

/// The record of an account for the list of devices at the key service: the name of this device, and the signatures
/// that put its keys on the list.
///
/// Nothing in it is secret: a signature only puts a key on the list of its owner. If the record is
/// damaged, the next login signs again.
struct DeviceRecord: Sendable {
    /// The time between two tries to send signatures, in seconds.
    private static let interval: TimeInterval = 3600

    private struct Content: RecordContent {
        /// The name that the person chose; nil for the name of the host.
        var name: String?
        /// The signatures by the ids of the keys. Empty once the service has answered.
        var claims: [String: [UInt8]] = [:]
        /// The start of the last try if it has not succeeded; the distant past if a key was added after it.
        var triedAt: Date?

        var isEmpty: Bool { name == nil && claims.isEmpty && triedAt == nil }
    }

    private let record: Record<Content>

    /// Opens the record of one account. Nothing is read yet.
    init(store: any SecureStore, account: AccountID) {
        record = Record("device", of: account, in: store)
    }

    func name() async throws -> String { try await record.content().name ?? HostName.present }

    /// Gives this device another name.
    func rename(to name: String) async throws { try await record.change { $0.name = name } }

    /// Adds the signatures that are missing, in one step with other changes.
    func signing(_ keys: Set<String>, _ sign: @escaping @Sendable (_ key: String) -> [UInt8]?) -> StoreChange {
        // The next login signs again what is missing.
        record.changing(mayBeLost: true) { content in
            for key in keys.subtracting(content.claims.keys) { content.claims[key] = sign(key) }
        }
    }

    /// Adds signatures, in one step with other changes.
    func adding(_ claims: [String: [UInt8]]) -> StoreChange {
        record.changing { content in
            content.claims.merge(claims) { old, _ in old }
            // A new key need not wait for an hour after a try that failed. The note of this try stays, because the
            // service may have received the older signatures.
            if content.triedAt != nil { content.triedAt = .distantPast }
        }
    }

    /// Forgets the signatures of keys, and that the service has answered them.
    func forget(_ keys: Set<String>) async throws {
        try await record.change { content in content.claims = content.claims.filter { !keys.contains($0.key) } }
    }

    /// Whether the service has answered the signature of one of these keys, or may have received it without an answer.
    func mayHaveSent(_ keys: Set<String>) async throws -> Bool {
        let content = try await record.content()
        return content.triedAt != nil || content.claims.contains { keys.contains($0.key) && $0.value.isEmpty }
    }

    /// Begins to send signatures. Another try begins at once after a success, and otherwise after an hour.
    ///
    /// - Parameters:
    ///   - keys: the keys that the account has. The others are forgotten.
    ///   - isAsked: whether the person asked for the list, and does not want to wait for an hour.
    /// - Returns: the signatures that the service does not have yet.
    func begin(_ keys: Set<String>, at now: Date, isAsked: Bool) async throws -> [String: [UInt8]] {
        // Nothing is written for an account that was deleted meanwhile: it has no signatures.
        try await record.change { content in
            content.claims = content.claims.filter { keys.contains($0.key) }
            let waiting = content.claims.filter { !$0.value.isEmpty }
            let isEarly = content.triedAt.map { abs(now.timeIntervalSince($0)) < Self.interval } ?? false
            guard !waiting.isEmpty, isAsked || !isEarly else { return [:] }
            content.triedAt = now
            return waiting
        }
    }

    /// Forgets the signatures that the service has answered.
    func finish(_ answered: Set<String>, isComplete: Bool) async throws {
        try await record.change { content in
            for key in answered where content.claims[key] != nil { content.claims[key] = [] }
            if isComplete { content.triedAt = nil }
        }
    }
}

/// The signatures of new keys whose keyslots are not stored yet. The vault key is at hand only while a keyslot is made.
final class NewClaims: Sendable {
    private let claims = Lock<[String: [UInt8]]>([:])

    func add(_ signature: [UInt8], of keyID: String) {
        claims.withLock { $0[keyID] = signature }
    }

    /// Returns the signatures of these keys, and forgets them.
    func take(_ keys: some Sequence<String>) -> [String: [UInt8]] {
        claims.withLock { claims in
            var taken: [String: [UInt8]] = [:]
            for key in keys { taken[key] = claims.removeValue(forKey: key) }
            return taken
        }
    }
}
