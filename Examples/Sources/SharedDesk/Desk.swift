import CredentialVault
import Foundation

/// A workstation that many people share: each of them comes with a PIN, and leaves without closing anything.
struct Desk: Sendable {
    private static let notesItem = ItemName(rawValue: "notes")

    let vault: Vault
    /// Where the patients are.
    let api: String
    /// What carries the requests; nil for the vault's own transport.
    var network: (any HTTPTransport)?

    /// Somebody who can come to this desk.
    struct Person {
        let account: Account
        let hasPIN: Bool
    }

    /// Who can come to this desk.
    func people() async throws -> [Person] {
        let accounts = try await vault.storage.all()
        return accounts.map { Person(account: $0, hasPIN: $0.keyslot(.pin) != nil) }
    }

    /// Lets somebody take the desk over. The person who was there before is locked out.
    ///
    /// An outage of the provider keeps nobody away: the account is open, and its notes are at hand.
    func take(_ account: AccountID, with method: UnlockMethod) async throws -> String {
        var remark = ""
        do {
            try await vault.auth.login(account, with: method)
        } catch {
            // The secret was right, but the provider gave no token.
            guard vault.auth.session?.id == account else { throw error }
            remark = " " + error.localizedDescription
        }
        let identity = try await session().identity()
        return "Hello \(identity.name ?? identity.preferredUsername ?? account.subject)." + remark
    }

    /// The patients, asked for in the name of the person who is logged in.
    func patients() async throws -> [String] {
        try await vault.auth.authorizedTransport(baseURL: api, over: network).get("patients")
    }

    /// The notes of the person who is logged in. They need no network.
    func notes() async throws -> [String] {
        try await session().items.get(Self.notesItem, as: [String].self) ?? []
    }

    func add(note: String) async throws {
        try await session().items.update(Self.notesItem, default: [String]()) { $0.append(note) }
    }

    private func session() throws -> Session {
        guard let session = vault.auth.session else {
            throw VaultError(.notLoggedIn, "Nobody is logged in. Type: take NAME")
        }
        return session
    }

    /// What to tell the person of an error, in one line.
    static func advice(for error: any Error) -> String {
        guard let error = error as? VaultError else { return error.localizedDescription }
        if error.isWrongSecret, let left = error.guessesRemaining {
            return "Wrong PIN or password. Guesses left: \(left). Try again."
        }
        if error.isKeyLocked { return "Locked. Use your password, or ask the help desk." }
        if error.isOutage { return "\(error.localizedDescription) You can still read your notes. Type: notes" }
        return error.localizedDescription
    }
}
