internal import CredentialVault
internal import Foundation
internal import VaultBase

// What would stop the next login of an account. Nobody is asked for a secret, and no guess is spent.
extension ServiceChecks {
    /// Checks each account: the address of its key service once, its unlock methods, and its refresh token.
    func accountChecks(_ transport: any HTTPTransport, _ accounts: [Account]) async -> [Check] {
        guard let vault = try? await vault() else { return [] }
        let storage = vault.storage
        var checks: [Check] = []
        var asked: Set = [Self.address(settings[.keyService] ?? "")]
        for url in accounts.map(\.keyServiceURL)
        where !url.isEmpty && storage.policy.allows(keyService: url) && asked.insert(Self.address(url)).inserted {
            checks.append(await keyService(at: url, transport, accounts))
        }
        for account in accounts {
            let answers = try? await vault.accounts.recheckLocks(of: account, within: UnlockOptions.glance)
            checks += await check(account, vault, answers ?? [:])
        }
        return checks
    }

    /// Asks the key service at `url`. If it does not work, also says which accounts need it, and which open without it.
    func keyService(at url: String, _ transport: any HTTPTransport, _ accounts: [Account]) async -> Check {
        let needing = accounts.filter { Self.address($0.keyServiceURL) == Self.address(url) }
        let hasVersion1 = needing.contains { $0.keyslots.contains { $0.keyServiceProtocol == 1 } }
        var check = await answer(
            of: url, transport, mayBeVersion1: hasVersion1 || settings[.keyServiceProtocol] == "1")
        guard check.outcome != .ok, !needing.isEmpty, let storage = try? await storage() else { return check }
        check.finding += " Accounts: \(needing.map { Printable.text($0.displayName) }.listed("and"))."
        for account in needing {
            guard let end = try? await storage.endOfOpeningOffline(of: account.id), end > SystemWallClock().now else {
                continue
            }
            let option = account.keyslot(.offline) == nil ? "" : " --offline"
            check.advice =
                (check.advice ?? "") + " To log in without the key service: vault login\(option) "
                + (await storage.userOption(of: account.id))
        }
        return check
    }

    private func answer(of url: String, _ transport: any HTTPTransport, mayBeVersion1: Bool) async -> Check {
        let name = "key service"
        do {
            let service = try HTTPKeyService(baseURL: url, transport: transport)
            try await service.requireKeyService(mayBeVersion1: mayBeVersion1)
            if (try? await service.saysNotReady()) == true {
                return Check(
                    name: name, outcome: .fail, finding: "\(url) answers, but is not ready.",
                    advice: "Ask its operator. The newest error in the log of the key service says why.")
            }
            return Check(name: name, outcome: .ok, finding: "\(url) answers.")
        } catch {
            var check = failure(name, error, advice: "Check the URL and the network.")
            // The check gives advice of its own.
            check.finding = check.finding.replacing(" Try again later.", with: "")
            return check
        }
    }

    static func address(_ url: String) -> String { String(url.reversed().drop { $0 == "/" }.reversed()) }

    // MARK: - One account

    /// A check for each problem of the account, or one that passes.
    ///
    /// - Parameter answers: what the key service has just said, by the id of the keyslot.
    private func check(_ account: Account, _ vault: Vault, _ answers: [String: RevocationAnswer]) async -> [Check] {
        let storage = vault.storage
        let user = await storage.userOption(of: account.id)
        let unquoted = (try? await storage.uniqueName(of: account.id)) ?? account.id.subject
        func check(_ outcome: Check.Outcome, _ finding: String, _ advice: String? = nil) -> Check {
            let name = Printable.text(account.displayName)
            return Check(
                name: "account", outcome: outcome, finding: "\(name): \(finding)", advice: advice, user: unquoted)
        }
        do {
            if let rule = storage.policy.rule(against: account) {
                return [
                    check(.fail, "The policy forbids this account (\(rule)).", "See: vault status \(user)")
                ]
            }
            let slots = try await storage.keyslotSummaries(of: account.id)
            // Without a key service, an unlock method opens without the network for any time.
            let usable = slots.filter { $0.state == .usable && (!$0.opensOffline || !account.hasKeyService) }
            var checks: [Check] = []
            for slot in slots where !usable.isEmpty && (slot.state == .locked || slot.isAtLastGuess) {
                let text = "\(slot.name): \(slot.stateInWords ?? "-")."
                let advice = await advice(about: slot, of: account, beside: usable, answers, vault, user)
                checks.append(check(.warn, text, advice))
            }
            if slots.areRevoked {
                checks.append(check(.fail, KeyslotSummary.revocation, account.signInAdvice(settings)))
            } else if usable.isEmpty {
                let end = try await storage.endOfOpeningOffline(of: account.id)
                let offline = end.flatMap { $0 > SystemWallClock().now ? $0 : nil }
                let known = slots.filter { $0.state != .usable }.map { "\($0.name) (\($0.stateInWords ?? "-"))" }
                let opens = offline.map { " Without the network, it opens until \($0.localText)." } ?? ""
                let text = "No unlock method is known to work: \(known.joined(separator: ", ")).\(opens)"
                checks.append(
                    check(
                        offline == nil ? .fail : .warn, text, await unlockAdvice(slots, account, answers, vault, user)))
            }
            if let time = account.refusedAt {
                checks.append(
                    check(
                        .fail, "The provider refused the stored token at \(time.localText).",
                        """
                        \(account.signInAdvice(settings)). If the server refused by mistake, ask it once more: \
                        vault token --refresh \(user)
                        """
                    ))
            } else if try await !storage.hasItem(.refreshToken, of: account.id) {
                checks.append(
                    check(
                        .warn, "There is no refresh token on this machine.",
                        account.signInAdvice(settings)))
            }
            guard checks.isEmpty else { return checks }
            let names = usable.map(\.name).joined(separator: ", ")
            return [check(.ok, "Not known to be locked: \(names). The refresh token is stored.")]
        } catch {
            let failed = failure("account", error, advice: "See: vault status \(user)")
            return [check(.fail, failed.finding, failed.advice)]
        }
    }

    /// The commands for an unlock method that is locked, or that the next wrong guess locks.
    private func advice(
        about slot: KeyslotSummary, of account: Account, beside usable: [KeyslotSummary],
        _ answers: [String: RevocationAnswer], _ vault: Vault, _ user: String
    ) async -> String {
        let login = "vault login \(slot.kind.option) \(user)"
        let first =
            slot.state == .locked
            ? await lockAdvice(login, [slot], account, answers, vault, user)
            : "The right \(slot.kind.displayName) gives all guesses back: \(login)"
        let other = usable.first { $0.id != slot.id && !$0.kind.asksNothing }?.kind
        let change = slot.kind == .password ? other.map { "passwd \($0.option)" } : slot.kind.replacement
        return first + (change.map { ". To make a new \(slot.kind.displayName): vault \($0) \(user)" } ?? "")
    }

    /// - Parameter login: the command that tries the unlock methods again.
    private func lockAdvice(
        _ login: String, _ locked: [KeyslotSummary], _ account: Account, _ answers: [String: RevocationAnswer],
        _ vault: Vault, _ user: String
    ) async -> String {
        let accounts = try? vault.accounts
        let mayBeReset = await accounts?.mayBeUnlockedByOwner(account) ?? true
        let waiting = Hints.waiting(locked.compactMap(\.keyID), await accounts?.ownerUnlockTimes(of: account) ?? [:])
        let signIn = "To unlock it by a sign-in, if the key service allows that: vault unlock reset \(user)"
        // If the key service has just said so, nobody has unlocked the key since then.
        let isKnown = locked.allSatisfy { answers[$0.id] == .locked }
        return [
            isKnown ? nil : "If a key was unlocked since then: \(login)", waiting ?? (mayBeReset ? signIn : nil),
            "To see the command for the operator of the key service: vault unlock list \(user)",
        ].compactMap(\.self).joined(separator: ". ")
    }

    private func unlockAdvice(
        _ slots: [KeyslotSummary], _ account: Account, _ answers: [String: RevocationAnswer], _ vault: Vault,
        _ user: String
    ) async -> String {
        let locked = slots.filter { $0.state == .locked }
        if !locked.isEmpty { return await lockAdvice("vault login \(user)", locked, account, answers, vault, user) }
        if slots.contains(where: { $0.state == .forbidden }) { return "To see the policy: vault doctor --verbose" }
        return "\(account.signInAdvice(settings)). The stored items are lost then."
    }
}

extension KeyslotSummary {
    /// Whether the next wrong guess locks its key.
    fileprivate var isAtLastGuess: Bool { state == .usable && guessesRemaining == 1 }
}
