internal import CredentialVault
internal import VaultBase

/// The confirmations that the command sends beside its work. See ``Accounts/finishConfirming()``.
enum Confirmations {
    private static let all = Lock<[Accounts]>([])

    static func remember(_ accounts: Accounts) {
        all.withLock { $0.append(accounts) }
    }

    /// Waits until they are sent, at the end of the command.
    static func finish() async {
        for accounts in all.withLock({ $0 }) { await accounts.finishConfirming() }
    }
}
