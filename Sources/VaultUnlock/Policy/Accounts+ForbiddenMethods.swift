internal import Logging
internal import VaultStorage

// A thief who has the disk can try the secret of an unlock method without the network as often as he likes. So an
// unlock method that the machine's policy forbids does not stay on the disk.
extension Accounts {
    /// Removes the unlock methods without the network that the machine's policy forbids. A notice tells of each. An
    /// app's own policy removes nothing, because other programs use the same account. An error of the store keeps
    /// nobody out: the next login tries again.
    ///
    /// - Parameter account: an account that an unlock method with the network has just opened, so one stays.
    func removeForbiddenOfflineKeyslots(of account: Account) async {
        guard let policy = obeyed.latest.machine else { return }
        @Sendable func isForbidden(_ slot: Keyslot) -> Bool { !slot.needsKeyService && !policy.allows(slot) }
        guard account.keyslots.contains(where: isForbidden) else { return }
        // In a new task: the login is done, and a cancelled caller must not leave them.
        let removed = await Task {
            try? await withLock(on: account.id) { _ in
                let now = try await current(account)
                let forbidden = now.keyslots.filter(isForbidden)
                _ = try await apply(
                    forbidden.map { .removeKeyslot(id: $0.id) }, to: account.id, retiringKeysOf: now)
                return forbidden
            }
        }.value
        for slot in removed ?? [] {
            history.noteRemoved(slot.id)
            logger.notice(
                "removed an unlock method without the network: the machine's policy forbids it",
                metadata: account.id.logMetadata.merging(["unlockMethod": .string(slot.kind.rawValue)]) { $1 })
            notices.send(.keyslotRemoved(slot.kind, of: account.id))
        }
    }
}
