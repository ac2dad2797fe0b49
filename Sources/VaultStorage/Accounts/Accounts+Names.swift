internal import Foundation

extension Accounts {
    /// Finds the one account that a person means.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name. A subject counts before the rest.
    ///   - issuer: considers only this issuer's accounts; nil or empty for those of every issuer.
    /// - Throws: ``VaultError`` with code `accountNotFound` or `accountAmbiguous`.
    package func find(_ userID: String, issuer: String? = nil) async throws -> Account {
        let named = try await accounts(named: userID).filter { $0.belongs(to: issuer) }
        let exact = named.filter { $0.id.subject == userID }
        let matches = exact.isEmpty ? named : exact
        guard let first = matches.first else {
            let place = issuer.flatMap { $0.isEmpty ? nil : "of \($0) " } ?? ""
            throw VaultError(
                .accountNotFound,
                "There is no account \"\(userID)\" \(place)here. To see the accounts: vault users. To register one: vault register"
            )
        }
        guard matches.count == 1 else {
            let list = matches.map { "  \($0.id)" }.joined(separator: "\n")
            throw VaultError(
                .accountAmbiguous,
                "More than one account matches \"\(userID)\". Name one by its subject and issuer:\n\(list)",
                accounts: matches.map(\.id))
        }
        return first
    }

    /// The account of this issuer and subject.
    ///
    /// - Throws: ``VaultError`` with code `accountNotFound`; ``StoreError``: `busy`, `unreadable`, `corrupt`.
    package func account(_ id: AccountID) async throws -> Account {
        guard let account = try await store.account(id) else {
            throw VaultError(.accountNotFound, "This account is not registered here. To register it: vault register")
        }
        return account
    }

    /// Refuses an alias that the account which is registered next cannot get, as far as that is known before the person
    /// has signed in: of the same issuer, the account that has the name may be the person's own.
    ///
    /// - Parameter issuer: where the person will sign in.
    /// - Throws: ``VaultError``: `aliasTaken`, and `configurationInvalid` for what is no alias.
    package func checkAlias(_ alias: String, issuer: String) async throws {
        let owners = try await accounts(named: Self.alias(alias))
        guard let owner = owners.first(where: { !$0.belongs(to: issuer) }) ?? owners.dropFirst().first else { return }
        throw Self.taken(alias, by: owner)
    }

    /// The alias in the form in which it is stored.
    ///
    /// - Throws: as ``checkAlias(_:issuer:)``.
    package func freeAlias(_ alias: String?, for id: AccountID) async throws -> String? {
        guard let alias = try alias.map(Self.alias) else { return nil }
        let owners = try await accounts(named: alias)
        // What an account is called already it may go on to be called.
        if owners.contains(where: { $0.id == id && $0.alias == alias }) { return alias }
        guard let owner = owners.first(where: { $0.id != id }) else { return alias }
        throw Self.taken(alias, by: owner)
    }

    /// The alias that an account keeps when it is registered again: nil when it is another account's name by now.
    func keptAlias(of account: Account?) async throws -> String? {
        guard let account, let alias = account.alias else { return nil }
        return try await accounts(named: alias).allSatisfy { $0.id == account.id } ? alias : nil
    }

    /// The same text can be written with other bytes (é is one character or two), and the store compares bytes.
    private func accounts(named name: String) async throws -> [Account] {
        var found: [Account] = []
        for form in [name, name.precomposedStringWithCanonicalMapping, name.decomposedStringWithCanonicalMapping] {
            guard found.isEmpty || !form.utf8.elementsEqual(name.utf8) else { continue }
            found += try await store.accounts(named: form).filter { account in !found.contains { $0.id == account.id } }
        }
        return found
    }

    /// An alias as it is stored: nothing invisible, nothing that turns the direction, and one way to write it.
    private static func alias(_ text: String) throws -> String {
        let isVisible = text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .unassigned, .privateUse, .lineSeparator, .paragraphSeparator: false
            default: !scalar.properties.isDefaultIgnorableCodePoint
            }
        }
        let alias = text.precomposedStringWithCanonicalMapping
        guard (1...100).contains(alias.count), alias.utf8.count <= 1000, isVisible,
            alias.first?.isWhitespace == false, alias.last?.isWhitespace == false
        else {
            throw VaultError(
                .configurationInvalid,
                "An alias has 1 to 100 visible characters on one line, and no space at its ends. Choose another one.")
        }
        return alias
    }

    private static func taken(_ alias: String, by owner: Account) -> VaultError {
        VaultError(
            .aliasTaken,
            "The alias \(alias) is a name of \(owner.id) already. Choose another alias.", accounts: [owner.id])
    }
}

extension Account {
    /// Whether it belongs to the issuer of the settings. A backend's address may be written there in other ways than it
    /// is stored; an OpenID provider's issuer may not. Nil or empty stands for every issuer, here and everywhere.
    package func belongs(to issuer: String?) -> Bool {
        guard let issuer, !issuer.isEmpty, id.issuer != issuer else { return true }
        guard method != .openIDConnect, let endpoint = try? ServerEndpoint(issuer) else { return false }
        return id.issuer == endpoint.url
    }
}
