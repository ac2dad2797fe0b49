internal import Foundation
internal import VaultLocks
internal import VaultStorage

/// Which account a name means, kept until the store changes.
final class KnownNames: Sendable {
    /// Changes whenever a program changes the store: every change is written to one of its two files.
    private struct Stamp: Equatable {
        var values: [Int] = []
        /// The later of the two files' times, in nanoseconds of Unix time.
        var time = 0

        init(_ files: [String]) {
            for file in files {
                var status = stat()
                guard stat(file, &status) == 0 else { continue }
                let changed = status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
                values += [Int(status.st_ino), Int(status.st_size), changed]
                time = max(time, changed)
            }
        }

        /// Whether a later change would certainly give another stamp: files have no finer times than some milliseconds.
        var isSettled: Bool { Int(Date().timeIntervalSince1970 * 1e9) - time > 50_000_000 }
    }

    private let files: [String]
    private let accounts: Accounts
    private let known = Lock<(stamp: Stamp?, ids: [String: AccountID])>((nil, [:]))

    init(folder: String, accounts: Accounts) {
        files = [folder + "/vault.sqlite", folder + "/vault.sqlite-wal"]
        self.accounts = accounts
    }

    /// The account, if it was looked for since the last change of the store.
    func known(_ name: String) -> AccountID? {
        let stamp = Stamp(files)
        return known.withLock { $0.stamp == stamp ? $0.ids[name] : nil }
    }

    /// Looks for the account that a person means; empty for the only one.
    ///
    /// - Throws: ``VaultError``: `accountNotFound`, `accountAmbiguous`.
    func find(_ name: String) async throws -> AccountID {
        let stamp = Stamp(files)
        let id = try await found(name)
        guard stamp.isSettled else { return id }
        known.withLock { known in
            if known.stamp != stamp || known.ids.count > 1000 { known = (stamp, [:]) }
            known.ids[name] = id
        }
        return id
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
