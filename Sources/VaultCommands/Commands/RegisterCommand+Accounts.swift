internal import CredentialVault

// What the accounts that are here already mean for a registration. It is looked at before the person signs in.
extension RegisterCommand {
    /// Refuses an alias that is a name of an account here. A person who registers this account again needs no alias.
    ///
    /// - Throws: `VaultError` with code `aliasTaken`, or `configurationInvalid` if the text cannot be an alias.
    static func requireFree(_ alias: String, in storage: any StorageProtocol) async throws {
        try await storage.checkAlias(alias)
        let owner: Account
        do {
            owner = try await storage.account(userID: alias)
        } catch let error as VaultError where error.code == .accountNotFound {
            return
        }
        let user = await storage.userOption(of: owner.id)
        let rename =
            owner.displayName == alias
            ? "" : " To give it this alias: vault account rename \(ShellQuoting.quoted(alias)) \(user)"
        throw VaultError(
            .aliasTaken,
            "The alias \(alias) is a name of \(owner.id). Choose another alias. To register that account again, leave out --alias.\(rename)",
            accounts: [owner.id])
    }

    /// Tells the person which accounts here have another key service than a new account gets, because a registration
    /// leaves it as it is.
    ///
    /// - Parameter url: the key service of a new account; empty for none.
    static func tellOfOtherKeyServices(than url: String, _ storage: any StorageProtocol) async throws {
        let others = try await storage.all().filter {
            ServiceChecks.address($0.keyServiceURL) != ServiceChecks.address(url)
        }
        guard let first = others.first else { return }
        let list = others.prefix(5).map { account in
            "\(account.displayName) (\(account.hasKeyService ? account.keyServiceURL : "none"))"
        }
        let rest = others.count > list.count ? " and \(others.count - list.count) more" : ""
        let way = first.changingKeyService(to: url, await storage.userOption(of: first.id))
        let names = Printable.text(list.joined(separator: ", ") + rest)
        Output.note("vault: an account keeps its key service if you register it again: \(names). \(way)")
    }
}

extension Account {
    /// The commands that give the account another key service.
    ///
    /// - Parameters:
    ///   - url: the new key service; empty for none.
    ///   - user: the option that names the account.
    func changingKeyService(to url: String, _ user: String) -> String {
        let place = url.isEmpty ? "go on without one" : "move \(Printable.text(displayName)) to \(Printable.text(url))"
        guard hasKeyService || url.isEmpty else {
            return "To \(place): vault key-services set \(ShellQuoting.quoted(url)) \(user)"
        }
        let register = id.registerCommand(method, clientID: clientID, keyServiceURL: url)
        let again = register ?? "sign in again with the app that made the account"
        return """
            To \(place), first save the items: vault export --to FILE \(user). Then: vault delete \(user). \
            Then: \(again). At the end: vault import FILE
            """
    }
}
