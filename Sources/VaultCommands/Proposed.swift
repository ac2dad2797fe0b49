internal import CredentialVault
internal import Foundation
internal import VaultBase

/// The commands that `vault` proposes for the account that it works on. They work as they stand: they name the account
/// if there is another one, and give `vault register` what the settings lack.
enum Proposed {
    private struct Target: Sendable {
        var account: Account?
        var userOption = ""
        var register: String? = "vault register"
        var mayBeUnlockedByOwner = true
        var ownerUnlockTimes: [String: Date] = [:]
    }

    private static let target = Lock(Target())

    /// Notes the account that the command works on from now on.
    ///
    /// - Parameter userOption: the option that names it, with a space before it; nil to name it only if there are several
    ///   accounts.
    static func note(_ account: Account, in vault: Vault, userOption: String? = nil) async {
        var noted = Target(account: account)
        if let userOption {
            noted.userOption = userOption
        } else {
            noted.userOption = await vault.userOption(of: account.id)
        }
        // With settings that cannot be read, nothing better is known.
        if let settings = try? await Settings(toClose: true) { noted.register = account.registerCommand(settings) }
        target.withLock { $0 = noted }
    }

    /// The account that was noted last; nil for none.
    static var account: Account? { target.withLock { $0.account } }

    /// Notes whether and when a sign-in may unlock keys of the account. Call this before a message about a locked key, and
    /// not in each command, because reading the store may take long.
    static func noteLock() async {
        guard let account, let accounts = try? GlobalOptions.opened?.accounts else { return }
        let mayBe = await accounts.mayBeUnlockedByOwner(account)
        let times = await accounts.ownerUnlockTimes(of: account)
        target.withLock { ($0.mayBeUnlockedByOwner, $0.ownerUnlockTimes) = (mayBe, times) }
    }

    /// Whether a sign-in may unlock keys of the account, as far as ``noteLock()`` found out.
    static var mayBeUnlockedByOwner: Bool { target.withLock { $0.mayBeUnlockedByOwner } }

    /// The times from which a sign-in can unlock keys again, by their ids, as far as ``noteLock()`` found out.
    static var ownerUnlockTimes: [String: Date] { target.withLock { $0.ownerUnlockTimes } }

    /// Returns the command `vault` with these words, for the account.
    static func command(_ words: String) -> String { "vault \(words)\(target.withLock { $0.userOption })" }

    private static let typedWords = Lock(Array(CommandLine.arguments.dropFirst()))

    /// Notes another command that does what the person typed: `vault setup` goes on as `vault register`.
    ///
    /// - Parameter words: the words after `vault`.
    static func note(typed words: [String]) { typedWords.withLock { $0 = words } }

    /// Returns the command that the person typed; nil if it is too long for a message.
    ///
    /// - Parameters:
    ///   - words: the words after `vault`; nil for those that the person typed.
    ///   - option: an option to add; nil for none.
    ///   - old: the option that it replaces; nil for none.
    static func typed(_ words: [String]? = nil, with option: String? = nil, insteadOf old: String? = nil) -> String? {
        let words = words ?? typedWords.withLock(\.self)
        // The words after "--" belong to another program.
        let end = words.firstIndex(of: "--") ?? words.count
        let own = words[..<end].filter { $0 != old } + [option].compactMap(\.self)
        let text = (["vault"] + own + words[end...]).map(ShellQuoting.quoted).joined(separator: " ")
        return text.count <= 120 && Printable.text(text) == text ? text : nil
    }

    /// Returns what to type to get the same command with another option for the browser, as the end of a line.
    static func again(with option: String) -> String {
        let words = typedWords.withLock(\.self)
        let old = words.contains("--private-browser") ? "--private-browser" : nil
        // A file for the input or output is not among the words, and neither is the file of a descriptor.
        let isWhole =
            isatty(STDIN_FILENO) == 1 && Output.isTerminal
            && !words.contains { $0.hasSuffix("-fd") || $0.contains("-fd=") }
        if isWhole, let command = typed(with: option, insteadOf: old) { return "type: \(command)" }
        return old.map { "use \(option) instead of \($0)" } ?? "add \(option)"
    }

    /// Returns the command that signs in to the account again, after `prefix` and a colon.
    static func registering(_ prefix: String = "To register again") -> String {
        guard let command = target.withLock({ $0.register }) else {
            return "Sign in again with the app that made the account"
        }
        return "\(prefix): \(command)"
    }
}

extension Vault {
    /// Returns the option that names the account, with a space before it; empty if there is no other account.
    func userOption(of id: AccountID) async -> String {
        // The storage may have the accounts of one issuer only.
        guard let count = try? await accounts.store.accounts().count, count > 1 else { return "" }
        return " \(await storage.userOption(of: id))"
    }
}

extension Account {
    /// Returns the command that signs in to the account again. It is short if the settings are those of the account.
    /// Nil if only the app that made the account can sign in.
    func registerCommand(_ settings: Settings) -> String? {
        let isUsual =
            (settings[.issuer].map { belongs(to: $0) } ?? false) && keyServiceURL == settings[.keyService] ?? ""
            && hasKeyService && (method == .openIDConnect || settings[.method] != nil)
            && (settings[.clientID].map { $0 == clientID } ?? true)
        let exact = id.registerCommand(
            method, clientID: clientID, keyServiceURL: keyServiceURL, opensWith: keyslots.first?.kind ?? .password)
        return exact.map { isUsual ? "vault register" : $0 }
    }
}
