internal import CredentialVault

/// A new alias for an account that is here already, by `vault account rename` or by a registration. Made before the
/// change, and finished after it.
struct AliasChange {
    private let old: Account
    private var new: Account
    /// The person's setting `user` if it named the account before the change; nil otherwise.
    private let settingBefore: String?
    private var changedSetting: String?
    /// Whether the old alias is also another name of the account, such as its user name at the provider.
    private var keepsOldName = false

    init(of account: Account, in vault: Vault) async {
        (old, new) = (account, account)
        let setting = try? Settings.stored(.user)
        settingBefore = await account.isNamedBySetting(in: vault) ? setting : nil
    }

    /// Notes the account after the change. If the person's setting `user` does not name the account any more, writes the
    /// new name into the setting. Otherwise the setting would stop every later command, or name another account.
    mutating func finish(as account: Account, in vault: Vault) async {
        new = account
        if let alias = old.alias { keepsOldName = (try? await UserOption.account(alias, in: vault))?.id == new.id }
        // During a registration, the person may have given the setting another value.
        guard let settingBefore, (try? Settings.stored(.user)) == settingBefore,
            await !new.isNamedBySetting(in: vault),
            let name = try? await vault.storage.uniqueName(of: new.id),
            (try? Settings.write([.user: name])) != nil
        else { return }
        changedSetting = Settings.Name.user.rawValue
    }

    /// Whether the account has another alias now.
    var isChange: Bool { old.alias != new.alias }

    /// The change in a sentence.
    var text: String {
        "\(Printable.text(old.displayName)) is called \(Printable.text(new.displayName)) now."
    }

    /// Adds the change to the account as JSON.
    func add(to report: inout AccountReport) {
        report.formerAlias = isChange ? old.alias : nil
        report.changedSetting = changedSetting
    }

    /// Tells the person what named the account by its old alias, if that does not name the account any more.
    func tellUses() {
        if changedSetting != nil {
            Output.note("Changed the setting user, because it named \(Printable.text(old.displayName)).")
        }
        if let alias = old.alias, isChange, !keepsOldName {
            Output.note("Programs and helpers with \(ShellQuoting.userOption(alias)) need the new name.")
        }
    }
}
