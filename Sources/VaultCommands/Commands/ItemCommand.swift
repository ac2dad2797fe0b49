internal import ArgumentParser
internal import CredentialVault
internal import Foundation

struct ItemCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "item", abstract: "Keep your own secrets in an account.",
        discussion: """
              vault item set backup-key < key.pem
              vault item get backup-key > key.pem

            An item has a name and up to 16 MiB of data. vault encrypts it like the tokens. Items open without the \
            network if the account does. They also open after the refresh token has expired.
            """,
        subcommands: [SetItem.self, GetItem.self, ListItems.self, RemoveItem.self])
}

struct SetItem: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Store standard input as an item.",
        discussion: """
            vault stores all of standard input unchanged. A new value replaces the old one. vault refuses an empty \
            value. At a terminal, vault asks for one line and does not show it.
            """)

    @Argument(help: "The item's name.", completion: .items)
    var name: String

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard unlock.password.file == "-" || unlock.password.descriptor == STDIN_FILENO else { return }
        throw ValidationError(
            "Standard input is the value, so it cannot be the password. Use --password-file PATH or --password-fd N."
        )
    }

    func run() async throws {
        let name = ItemName(rawValue: name)
        try name.requireOfApp()
        let vault = try await unlock.openVault(global)
        let account = try await user.account(in: vault)
        let session = try await unlock.session(of: account, in: vault, isReusable: true, global)
        if isatty(STDIN_FILENO) == 1 {
            let secret = try await Asking.terminal().askHidden("Value of \(Printable.text(name.rawValue)): ")
            guard secret.count > 0 else { throw StandardInput.nothing }
            try await session.items.set(name, to: secret.withUnsafeBytes { Array($0) })
        } else {
            try await session.items.set(name, from: StandardInput())
        }
        if global.json { return Output.json(Report(name: name.rawValue, stored: true)) }
        Output.note("Stored \(Printable.text(name.rawValue)) for \(Printable.text(account.displayName)).")
    }

    private struct Report: Encodable {
        let name: String
        let stored: Bool
    }
}

struct GetItem: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Write an item to standard output, as it was stored.",
        discussion: "At a terminal, vault asks first, because others may see the item.")

    @Argument(help: "The item's name.", completion: .items)
    var name: String

    @Flag(help: "Show the item at a terminal without asking.")
    var yes = false

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let name = ItemName(rawValue: name)
        try name.requireOfApp()
        let vault = try await unlock.openVault(global)
        let account = try await user.account(in: vault, countsOpen: Output.isTerminal)
        guard try await vault.storage.hasItem(name, of: account.id) else {
            throw VaultError.noItem(name, of: account)
        }
        let isTerminal = Output.isTerminal
        if isTerminal && !yes { try await confirm(name) }
        let session = try await unlock.session(of: account, in: vault, isReusable: true, global)
        guard isTerminal || global.json else {
            guard try await session.items.read(name, { try Output.bytes($0) }) else {
                throw VaultError.noItem(name, of: account)
            }
            return
        }
        guard let content = try await session.items.get(name) else { throw VaultError.noItem(name, of: account) }
        let text = String(validating: content, as: UTF8.self)
        if global.json {
            return Output.json(
                Report(
                    name: name.rawValue, size: content.count, text: text,
                    base64: text == nil ? Data(content).base64EncodedString() : nil))
        }
        guard let text else {
            throw VaultError(
                .cancelled,
                "\(Printable.text(name.rawValue)) is not text, so it was not shown. To store it in a file: \(Proposed.command("item get \(ShellQuoting.quoted(Printable.text(name.rawValue)))")) > FILE"
            )
        }
        Output.line(text.hasSuffix("\n") ? String(text.dropLast()) : text)
    }

    private func confirm(_ name: ItemName) async throws {
        let terminal = ControllingTerminal()
        guard terminal.isInteractive else {
            throw VaultError(
                .configurationInvalid, "There is no terminal to ask. Use --yes to show the item without asking.")
        }
        guard try await terminal.confirm("Show \(Printable.text(name.rawValue)) on this terminal?") else {
            throw VaultError(.cancelled, "The item was not shown.")
        }
    }

    private struct Report: Encodable {
        let name: String
        let size: Int
        /// The content, if it is UTF-8.
        let text: String?
        /// The content, if it is not UTF-8.
        let base64: String?
    }
}

struct ListItems: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the names of the items. Needs no password and no network.")

    @OptionGroup var user: UserOption
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await global.openVault()
        let account = try await user.account(in: vault, countsOpen: true)
        let names = try await vault.storage.itemNames(of: account.id).map(\.rawValue)
        if global.json { return Output.json(names.map(Report.init)) }
        for name in names { Output.line(Printable.text(name)) }
        if names.isEmpty { Output.note("No items here yet. Store one: vault item set NAME < FILE") }
    }

    private struct Report: Encodable {
        let name: String
    }
}

struct RemoveItem: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(commandName: "rm", abstract: "Remove an item.")

    @Argument(help: "The item's name.", completion: .items)
    var name: String

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let name = ItemName(rawValue: name)
        try name.requireOfApp()
        let vault = try await unlock.openVault(global)
        let account = try await user.account(in: vault)
        guard try await vault.storage.hasItem(name, of: account.id) else {
            throw VaultError.noItem(name, of: account)
        }
        let session = try await unlock.session(of: account, in: vault, isReusable: true, global)
        guard try await session.items.remove(name) else { throw VaultError.noItem(name, of: account) }
        if global.json { return Output.json(Report(name: name.rawValue, removed: true)) }
        Output.line("Removed \(Printable.text(name.rawValue)).")
    }

    private struct Report: Encodable {
        let name: String
        let removed: Bool
    }
}

extension VaultError {
    static func noItem(_ name: ItemName, of account: Account) -> VaultError {
        let user = Printable.text(account.displayName)
        return VaultError(
            .itemNotFound,
            "\(user) has no item \(Printable.text(name.rawValue)). See: vault item list \(ShellQuoting.userOption(account.displayName))",
            detail: .told)
    }
}
