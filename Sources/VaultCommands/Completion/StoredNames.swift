internal import CredentialVault
internal import Foundation

/// The names in the store of this machine, for a shell that completes them. It changes, asks and sends nothing. A name
/// that cannot be read is left out, because a shell has no place for an error.
struct StoredNames {
    private let store: SQLiteStore
    private let accounts: [Account]

    /// - Returns: nil when there is no store that can be read now.
    init?() async {
        guard let settings = try? await Settings() else { return nil }
        let allowsFUSE = settings[.allowFUSE].flatMap { try? Settings.Name.allowFUSE.isOn($0) } ?? false
        let folder = settings[.home] ?? Vault.standardFolder
        guard let store = try? SQLiteStore(reading: folder, allowsFUSE: allowsFUSE),
            let accounts = try? await store.accounts()
        else { return nil }
        self.store = store
        self.accounts = accounts
    }

    /// A name of each account: the name that `vault users` shows first, or another name that begins as typed.
    func users(_ prefix: String) -> [String] {
        accounts.compactMap { account in
            let names = [account.displayName, account.preferredUsername, account.email, account.id.subject]
            return names.compactMap(\.self).first { $0.hasPrefix(prefix) }
        }
    }

    /// The names of the items of the account that a command line names, or else of all accounts.
    func items(for words: [String]) async -> [String] {
        var names: [String] = []
        for account in accounts(in: words) {
            names += ((try? await store.itemNames(of: account.id)) ?? []).filter { !$0.isReserved }.map(\.rawValue)
        }
        return names
    }

    /// The kinds and labels of the unlock methods that `vault unlock rename` and `vault unlock remove` take.
    func keyslots(for words: [String]) -> [String] {
        accounts(in: words).flatMap { account in
            let names = account.keyslots.flatMap { [$0.kind.rawValue, $0.label].compactMap(\.self) }
            // A name that several unlock methods share is unclear. Only their ids are left.
            let unclear = Set(names.filter { name in names.count { $0 == name } > 1 })
            let ids = account.keyslots.filter { slot in
                unclear.contains(slot.kind.rawValue) && slot.label.map(unclear.contains) ?? true
            }
            return names.filter { !unclear.contains($0) } + ids.map(\.id) + account.damagedKeyslots.map(\.id)
        }
    }

    /// The account after `--user`. bash splits an e-mail address, and a word with an equals sign, into several words.
    private func accounts(in words: [String]) -> [Account] {
        guard let option = words.firstIndex(where: { $0 == "--user" || $0.hasPrefix("--user=") }) else {
            return accounts
        }
        let parts = words[option...].prefix(8).map { $0.filter { !"\\'\"".contains($0) } }
        for count in (1...parts.count).reversed() {
            let text = parts.prefix(count).joined().dropFirst("--user".count)
            let name = String(text.hasPrefix("=") ? text.dropFirst() : text)
            let found = accounts.filter {
                [$0.id.subject, $0.alias, $0.email, $0.preferredUsername].contains(name)
            }
            if !found.isEmpty { return found }
        }
        return []
    }
}
