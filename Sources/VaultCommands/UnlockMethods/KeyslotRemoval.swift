internal import CredentialVault

/// The removal of an unlock method, and what a person must know before it.
struct KeyslotRemoval {
    /// The unlock method, for people.
    private let name: String
    private let user: String
    /// The unlock methods that are left, with the reason if one does not work.
    private let left: String
    /// Whether no other unlock method opens the account with the network, as far as this machine knows.
    private let isLastThatWorks: Bool
    /// Whether the library refuses the removal anyway.
    private let isRefused: Bool

    /// - Parameter id: the id of the unlock method, which may be damaged.
    init(of id: String, from account: Account, _ accounts: Accounts) async throws {
        let names = try await Dictionary(
            uniqueKeysWithValues: accounts.keyslotSummaries(of: account).map { ($0.id, Printable.text($0.name)) })
        let refused = await accounts.refusedKeyslots(of: account)
        func reason(_ slot: Keyslot) -> String? {
            accounts.policy.allows(slot) ? refused[slot.id]?.inWords : "forbidden by the policy"
        }
        let slot = account.keyslots.first { $0.id == id }
        // The password takes the offline method with it.
        let gone = account.keyslots.filter { $0.id == id || slot?.kind == .password && $0.kind == .offline }
        let stays = account.keyslots.filter { other in !gone.contains { $0.id == other.id } }
        let online = stays.filter(\.needsKeyService)
        left = stays.map { (names[$0.id] ?? $0.kind.displayName) + (reason($0).map { " (\($0))" } ?? "") }
            .joined(separator: ", ")
        let works = slot.map { $0.needsKeyService && reason($0) == nil } ?? false
        isLastThatWorks = works && online.allSatisfy { reason($0) != nil }
        isRefused = slot?.needsKeyService == true && online.isEmpty
        name = slot == nil ? "damaged keyslot" : gone.compactMap { names[$0.id] }.joined(separator: " and the ")
        user = Printable.text(account.displayName)
    }

    /// Asks the person.
    ///
    /// - Throws: `VaultError` with code `cancelled` if the person says no; `configurationInvalid` or `lastUnlockMethod`
    ///   if there is nobody to ask.
    func confirm(isJSON: Bool) async throws {
        // The library says why. A question would promise something else.
        guard !isRefused else { return }
        let warning = isLastThatWorks ? "Nothing else opens \(user). " : ""
        let terminal = try await Asking.terminal()
        guard !isJSON, terminal.isInteractive else {
            guard isLastThatWorks else {
                throw VaultError(
                    .configurationInvalid, "There is no terminal to ask. Use --yes to remove without asking.")
            }
            throw VaultError(
                .lastUnlockMethod, "\(warning)Left: \(left). To remove the \(name) anyway, add --yes.", detail: .told)
        }
        guard try await terminal.confirm("\(warning)Remove the \(name)? Left: \(left)") else {
            throw VaultError(.cancelled, "Nothing was removed.")
        }
    }
}
