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

    /// - Parameter id: the id of the keyslot, which may be damaged.
    init(of id: String, from account: Account, _ storage: any StorageProtocol) async throws {
        let slots = try await storage.keyslotSummaries(of: account.id).filter { $0.state != .damaged }
        let slot = slots.first { $0.id == id }
        // The password takes the offline method with it.
        let gone = slots.filter { $0.id == id || slot?.kind == .password && $0.kind == .offline }
        let stays = slots.filter { !gone.contains($0) }
        // Without a key service, no unlock method ends after some days without the network.
        func opensForGood(_ slot: KeyslotSummary) -> Bool { !slot.opensOffline || !account.hasKeyService }
        let online = stays.filter(opensForGood)
        left = stays.map { slot in
            let words = slot.state == .usable ? nil : slot.stateInWords
            return Printable.text(slot.name) + (words.map { " (\($0))" } ?? "")
        }.joined(separator: ", ")
        let works = slot.map { opensForGood($0) && $0.state == .usable } ?? false
        isLastThatWorks = works && online.allSatisfy { $0.state != .usable }
        isRefused = slot.map(opensForGood) == true && online.isEmpty
        name = slot == nil ? "damaged keyslot" : gone.map { Printable.text($0.name) }.joined(separator: " and the ")
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
