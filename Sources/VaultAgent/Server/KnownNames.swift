internal import Foundation
internal import VaultLocks
internal import VaultStorage

/// Which account a name means, kept until the store changes.
final class KnownNames: Sendable {
    /// Changes with every commit of any program: the head of SQLite's index of its write-ahead log, which is shared
    /// memory of all programs that have the store open (https://www.sqlite.org/walformat.html, section 2.1).
    private struct Stamp: Equatable {
        private var head = InlineArray<12, UInt64>(repeating: 0)

        /// - Returns: nil when it cannot be read, or when the file was deleted. Then nothing can be remembered.
        init?(_ descriptor: Int32) {
            var file = stat()
            let size = MemoryLayout.size(ofValue: head)
            guard descriptor >= 0, fstat(descriptor, &file) == 0, file.st_nlink > 0,
                pread(descriptor, &head, size, 0) == size
            else { return nil }
        }

        static func == (first: Stamp, second: Stamp) -> Bool {
            first.head.indices.allSatisfy { first.head[$0] == second.head[$0] }
        }
    }

    private let index: String
    /// Opened once and never closed: closing it would take away the locks that SQLite has on this file in this process
    /// (https://www.sqlite.org/howtocorrupt.html, section 2.2).
    private let descriptor = Lock<Int32>(-1)
    private let accounts: Accounts
    private let known = Lock<(stamp: Stamp?, ids: [String: AccountID])>((nil, [:]))

    init(folder: String, accounts: Accounts) {
        index = folder + "/vault.sqlite-shm"
        self.accounts = accounts
    }

    /// The account, if it was looked for since the last change of the store.
    func known(_ name: String) -> AccountID? {
        guard let stamp = stamp() else { return nil }
        return known.withLock { $0.stamp == stamp ? $0.ids[name] : nil }
    }

    /// Looks for the account that a person means; empty for the only one.
    ///
    /// - Throws: ``VaultError``: `accountNotFound`, `accountAmbiguous`.
    func find(_ name: String) async throws -> AccountID {
        // Before the look into the store: a change in between gives another stamp.
        let stamp = stamp()
        let id = try await found(name)
        guard let stamp else { return id }
        known.withLock { known in
            if known.stamp != stamp || known.ids.count > 1000 { known = (stamp, [:]) }
            known.ids[name] = id
        }
        return id
    }

    private func stamp() -> Stamp? {
        let descriptor = descriptor.withLock { descriptor in
            if descriptor < 0 { descriptor = open(index, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
            return descriptor
        }
        return Stamp(descriptor)
    }

    private func found(_ name: String) async throws -> AccountID {
        guard name.isEmpty else { return try await accounts.find(name, issuer: nil).id }
        let all = try await accounts.store.accounts()
        guard let only = all.first, all.count == 1 else {
            throw VaultError(.accountAmbiguous, "There are \(all.count) accounts here.")
        }
        return only.id
    }
}
