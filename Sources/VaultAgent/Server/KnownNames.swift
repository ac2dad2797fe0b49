internal import Foundation
internal import VaultLocks
internal import VaultStorage

/// Which account a name means, kept until the store changes.
final class KnownNames: Sendable {
    /// Changes with every commit of any program: the head of SQLite's index of its write-ahead log, which is shared
    /// memory of all programs that have the store open (https://www.sqlite.org/walformat.html, section 2.1).
    private struct Stamp: Equatable {
        private let device: dev_t
        private let number: ino_t
        private let head: [UInt8]

        /// - Returns: nil when it cannot be read, or is another file by now. Then nothing can be remembered.
        init?(_ descriptor: Int32, _ index: String) {
            var (opened, named, head) = (stat(), stat(), [UInt8](repeating: 0, count: 96))
            guard descriptor >= 0, fstat(descriptor, &opened) == 0, stat(index, &named) == 0,
                opened.st_ino == named.st_ino, opened.st_dev == named.st_dev,
                pread(descriptor, &head, head.count, 0) == head.count
            else { return nil }
            (device, number, self.head) = (opened.st_dev, opened.st_ino, head)
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
        return Stamp(descriptor, index)
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
