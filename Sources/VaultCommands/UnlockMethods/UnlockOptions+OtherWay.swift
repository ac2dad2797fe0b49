internal import CredentialVault
internal import Foundation

// What a person types after a wrong secret, as a command that works as it stands.
extension UnlockOptions {
    /// A sentence with the way to open the account with another unlock method; nil if this machine knows none that
    /// works.
    ///
    /// - Parameter isReusable: whether a recovery code cannot open the account here.
    func otherWay(
        than kind: Keyslot.Kind, of account: Account, in vault: Vault, isReusable: Bool, _ terminal: any Terminal
    ) async -> String? {
        let slots = (try? await vault.storage.keyslotSummaries(of: account.id)) ?? []
        let kinds = slots.filter { $0.state == .usable && vault.storage.policy.allows($0.kind) }.map(\.kind)
        if !kind.isOfPassword && kinds.contains(.password) {
            let fact = "The password of \(Printable.text(account.displayName)) still works"
            return "\(fact): \(naming([.password], terminal))"
        }
        let others = MethodKind.all.map(\.kind).filter {
            $0 != kind && !$0.isOfPassword && !$0.asksNothing && kinds.contains($0) && !(isReusable && $0 == .recovery)
        }
        return others.isEmpty ? nil : "To open the account in another way: \(naming(others, terminal))"
    }

    /// Words for a person who has typed wrong secrets, and has one guess left.
    func lastGuessAgain(_ terminal: any Terminal) -> String {
        let again = isTypedWhole(terminal) ? Proposed.typed().map { ": \($0)" } : nil
        return "vault does not use it by itself. To use this guess\(again ?? ", type the command again")"
    }

    /// The typed command with the option of an unlock method, or how to change it.
    private func naming(_ kinds: [Keyslot.Kind], _ terminal: any Terminal) -> String {
        let old = named?.option
        if isTypedWhole(terminal) {
            let commands = kinds.compactMap { Proposed.typed(with: $0.option, insteadOf: old) }
            if commands.count == kinds.count { return commands.joined(separator: ", or ") }
        }
        let options = kinds.map(\.option).listed("or")
        return old.map { "use \(options) instead of \($0)" } ?? "add \(options)"
    }

    /// Whether the words of the command are all that the person typed. A given secret is that of the old unlock method,
    /// and a file for the input or output is not among the words.
    private func isTypedWhole(_ terminal: any Terminal) -> Bool {
        terminal.isInteractive && !password.isGiven && isatty(STDIN_FILENO) == 1 && Output.isTerminal
    }
}
