import CredentialVault
import Foundation

/// A workstation that many people share. Each person comes with a PIN, and leaves without closing anything.
struct Desk: Sendable {
    private static let notesItem = ItemName(rawValue: "notes")

    let vault: Vault
    /// The address of the server that has the patients.
    let api: String
    /// The transport of the requests, or nil for the vault's own.
    var network: (any HTTPTransport)?

    /// A person who can use this desk.
    struct Person {
        let account: Account
        let hasPIN: Bool
    }

    /// Returns the people who can use this desk.
    func people() async throws -> [Person] {
        let accounts = try await vault.storage.all()
        return accounts.map { Person(account: $0, hasPIN: $0.keyslot(.pin) != nil) }
    }

    /// Logs a person in at the desk. The previous person is locked out. After a wrong PIN, the desk stays as it was.
    ///
    /// If the provider has an outage, the account still opens, and its notes are available.
    func take(_ account: AccountID, with method: UnlockMethod) async throws -> String {
        let session: Session
        var remark = ""
        do {
            session = try await vault.auth.login(account, with: method)
        } catch {
            // If the error has a session, the secret was right, and only the provider gave no token.
            guard let opened = (error as? VaultError)?.openedSession else { throw error }
            session = opened
            remark = " " + error.localizedDescription
        }
        let identity = try await session.identity()
        return "Hello \(identity.name ?? identity.preferredUsername ?? account.subject)." + remark
    }

    /// Requests the patients with the access token of the logged-in person.
    func patients() async throws -> [String] {
        try await session().authorizedTransport(baseURL: api, over: network).get("patients")
    }

    /// Reads the notes of the logged-in person. This needs no network.
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

    /// Returns one line for the person about an error.
    static func advice(for error: any Error) -> String {
        guard let error = error as? VaultError else { return error.localizedDescription }
        if error.isWrongSecret, let left = error.guessesRemaining {
            return "Wrong PIN or password. Guesses left: \(left). Try again."
        }
        if error.isKeyLocked { return "Locked. Use your password, or ask the help desk." }
        // Without the key service, nobody is logged in. Without the provider, the session goes on.
        if error.isOutage, error.code != .keyServiceUnavailable {
            return "\(error.localizedDescription) You can still read your notes. Type: notes"
        }
        return error.localizedDescription
    }
}
