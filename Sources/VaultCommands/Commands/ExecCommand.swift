internal import ArgumentParser
internal import CredentialVault
internal import Foundation

struct ExecCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run a command with an access token in its environment.",
        discussion: """
              vault exec --user alice -- \\
                sh -c 'curl -H "Authorization: Bearer $ACCESS_TOKEN" https://example.com/'

            The token is valid for at least a minute. vault does not renew it while the command runs. Other programs \
            of your user can read the environment of the command.

            If a token is bound to a key (DPoP), the command must make proofs. See "vault token --help".

            The command replaces vault. Signals, job control and the exit status are those of the command. Exit status \
            126: the command cannot be run. 127: the command is not found. If vault fails first, the exit status is \
            one of "vault --help".
            """)

    @Option(help: ArgumentHelp("Put the access token into this variable.", valueName: "name"))
    var env = "ACCESS_TOKEN"

    @Option(
        help: ArgumentHelp(
            "Also put an item into a variable. Can be repeated.", valueName: "name=variable"),
        completion: .itemVariables, transform: ItemVariable.init)
    var item: [ItemVariable] = []

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    @Argument(parsing: .postTerminator, help: "After \"--\": the command and its arguments.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else {
            throw ValidationError("A command is missing. Put it after --: vault exec -- command argument")
        }
        try ItemVariable.check(variable: env)
        let names = [env] + item.map(\.variable)
        guard Set(names).count == names.count else {
            throw ValidationError("Each variable can be used only once.")
        }
    }

    func run() async throws {
        // A missing command is reported before a person types a password.
        let replacement = try Replacement(command)
        let vault = try await unlock.openVault(global)
        let account = try await user.account(in: vault, countsOpen: Output.isTerminal)
        for item in item { try await item.requireStored(in: vault, of: account) }
        let session = try await unlock.session(
            of: account, in: vault, isReusable: true, needsToken: true, global)
        let token = try await Spinner.during("Getting a token", isQuiet: global.json) {
            try await session.retryingAccessToken(forceRefresh: false)
        }
        var variables = [env: try token.text]
        for item in item {
            variables[item.variable] = try await item.text(in: session, of: account)
        }
        BoundToken.tell(token, isQuiet: global.json)
        await AskedSession.finish(global)
        Notices.tellRest()
        await Confirmations.finish()
        // The password was read. The command need not find the descriptor.
        if let descriptor = unlock.password.descriptor { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        try replacement.run(with: variables)
    }
}

/// `--item`: a sealed item, and the variable that gets its text.
struct ItemVariable {
    let name: String
    let variable: String

    /// - Parameter text: `name=variable`.
    init(_ text: String) throws {
        guard let sign = text.lastIndex(of: "="), sign != text.startIndex else {
            throw ValidationError("--item takes the name of an item and a variable: --item api-key=API_KEY")
        }
        name = String(text[..<sign])
        variable = String(text[text.index(after: sign)...])
        try Self.check(variable: variable)
        guard !ItemName(rawValue: name).isReserved else {
            throw ValidationError("vault keeps the item \(name) for itself. Choose another one: vault item list")
        }
    }

    static func check(variable: String) throws {
        let isName =
            variable.utf8.first.map { !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0) } ?? false
            && variable.unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "_")
            }
        guard isName else {
            throw ValidationError("\(variable) cannot be the name of a variable. Use letters, digits and _.")
        }
    }

    /// Refuses an item that the account does not have, before a person types a secret.
    func requireStored(in vault: Vault, of account: Account) async throws {
        guard try await vault.storage.hasItem(ItemName(rawValue: name), of: account.id) else {
            throw VaultError.noItem(ItemName(rawValue: name), of: account)
        }
    }

    func text(in session: Session, of account: Account) async throws -> String {
        guard let content = try await session.items.get(ItemName(rawValue: name)) else {
            throw VaultError.noItem(ItemName(rawValue: name), of: account)
        }
        guard !content.contains(0), let text = String(validating: content, as: UTF8.self) else {
            throw VaultError(.configurationInvalid, "The item \(name) is not text. A variable cannot hold it.")
        }
        return text
    }
}

extension AccessToken {
    /// The token, for a line that also holds other text.
    ///
    /// - Throws: `VaultError` with code `tokenInvalid` if it has characters that RFC 6750 section 2.1 does not allow.
    var text: String {
        get throws {
            guard !value.isEmpty, value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw VaultError(
                    .tokenInvalid, "The access token has characters that are not allowed. Tell the identity provider.")
            }
            return value
        }
    }
}
