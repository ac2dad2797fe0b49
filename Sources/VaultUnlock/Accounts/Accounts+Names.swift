internal import Foundation
package import VaultStorage

extension Accounts {
    /// Finds the one account that a person means.
    ///
    /// - Parameters:
    ///   - userID: an alias, the subject, the e-mail address or the preferred user name. A matching alias wins, then a
    ///     matching subject.
    ///   - issuer: the issuer whose accounts are searched; nil or empty for all.
    /// - Throws: ``VaultError`` with code `accountNotFound` or `accountAmbiguous`.
    package func find(_ userID: String, issuer: String? = nil) async throws -> Account {
        let matches = try await accounts(named: userID).filter { $0.belongs(to: issuer) }.meant(by: userID)
        guard let first = matches.first else {
            let place = issuer.flatMap { $0.isEmpty ? nil : "of \($0) " } ?? ""
            throw VaultError(
                .accountNotFound,
                "There is no account \"\(userID)\" \(place)here.", detail: .nameUnknown)
        }
        guard matches.count == 1 else {
            let list = matches.map { "  \($0.id)" }.joined(separator: "\n")
            throw VaultError(
                .accountAmbiguous,
                "More than one account matches \"\(userID)\". Name one with its subject and issuer:\n\(list)",
                accounts: matches.map(\.id))
        }
        return first
    }

    /// Finds the account of this issuer and subject.
    ///
    /// - Throws: ``VaultError`` with code `accountNotFound`; ``StoreError``: `busy`, `unreadable`, `corrupt`.
    package func account(_ id: AccountID) async throws -> Account {
        guard let account = try await store.account(id) else {
            throw VaultError(.accountNotFound, "This account is not registered here.", detail: .notRegistered)
        }
        return account
    }

    /// Refuses an alias that the next registered account cannot get, as far as that is known before the sign-in. An
    /// account of the same issuer may be the person's own, so its alias is not refused.
    ///
    /// - Parameter issuer: the issuer where the person will sign in.
    /// - Throws: ``VaultError`` with code `aliasTaken`, or `configurationInvalid` if the text cannot be an alias.
    ///   Choose another alias.
    package func checkAlias(_ alias: String, issuer: String) async throws {
        let owners = try await accounts(named: Self.alias(alias))
        guard let owner = owners.first(where: { !$0.belongs(to: issuer) }) ?? owners.dropFirst().first else { return }
        throw Self.taken(alias, by: owner)
    }

    /// Returns the alias in the form in which it is stored.
    ///
    /// - Throws: as ``checkAlias(_:issuer:)``.
    package func freeAlias(_ alias: String?, for id: AccountID) async throws -> String? {
        guard let alias = try alias.map(Self.alias) else { return nil }
        let owners = try await accounts(named: alias)
        // An account may keep the alias that it has.
        if owners.contains(where: { $0.id == id && $0.alias == alias }) { return alias }
        guard let owner = owners.first(where: { $0.id != id }) else { return alias }
        throw Self.taken(alias, by: owner)
    }

    /// Gives an account another alias, under its lock.
    ///
    /// - Parameter alias: nil for none.
    /// - Throws: as ``freeAlias(_:for:)`` and ``account(_:)``. Then nothing was changed.
    package func setAlias(_ alias: String?, of id: AccountID) async throws {
        try await withLock(on: id) { _ in
            var current = try await account(id)
            current.alias = try await freeAlias(alias, for: id)
            try await store.apply([.putAccount(current)], to: id)
        }
    }

    /// The same text can have different bytes (é is one character or two), and the store compares bytes.
    private func accounts(named name: String) async throws -> [Account] {
        var found: [Account] = []
        for form in [name, name.precomposedStringWithCanonicalMapping, name.decomposedStringWithCanonicalMapping] {
            guard found.isEmpty || !form.utf8.elementsEqual(name.utf8) else { continue }
            found += try await store.accounts(named: form).filter { account in !found.contains { $0.id == account.id } }
        }
        return found
    }

    /// Brings an alias into its stored form: only visible characters, no change of direction, one spelling.
    private static func alias(_ text: String) throws -> String {
        let isVisible = text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .unassigned, .privateUse, .lineSeparator, .paragraphSeparator: false
            default: !scalar.properties.isDefaultIgnorableCodePoint
            }
        }
        let alias = text.precomposedStringWithCanonicalMapping
        guard (1...100).contains(alias.count), alias.utf8.count <= 1000, isVisible,
            alias.first?.isWhitespace == false, alias.last?.isWhitespace == false,
            // A command would read such an alias as an option.
            alias.first != "-"
        else {
            throw VaultError(
                .configurationInvalid,
                "An alias must have 1 to 100 visible characters on one line, no space at its ends, and no hyphen at its beginning. Choose another alias."
            )
        }
        return alias
    }

    private static func taken(_ alias: String, by owner: Account) -> VaultError {
        VaultError(
            .aliasTaken,
            "The alias \(alias) is a name of \(owner.id). Choose another alias.", accounts: [owner.id])
    }
}

extension Account {
    /// Whether the account belongs to the issuer of the settings. The settings may spell a backend's address in another
    /// way, but not an OpenID provider's issuer. Nil or empty stands for every issuer.
    package func belongs(to issuer: String?) -> Bool {
        guard let issuer, !issuer.isEmpty, id.issuer != issuer else { return true }
        guard method != .openIDConnect, let endpoint = try? ServerEndpoint(issuer, allowsInsecureHTTP: true) else {
            return false
        }
        return id.issuer == endpoint.url
    }
}
