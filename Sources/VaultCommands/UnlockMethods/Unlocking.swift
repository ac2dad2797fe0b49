internal import CredentialVault

/// Opening an account if no unlock method is named: with the first way that is there and works.
extension UnlockOptions {
    /// Opens the account with the named unlock method. If none is named, tries hardware, then the PIN, then the
    /// password. If a way cannot be used now, tells the person why and tries the next. A given secret is the password:
    /// nothing else is tried.
    ///
    /// If nothing is named or given and the agent holds the account open, the session is the agent's.
    ///
    /// - Parameters:
    ///   - isReusable: refuses a recovery code, for commands that cannot show the new code.
    ///   - mayAttach: whether to use the agent's session, which hands out no refresh token.
    ///   - isQuiet: whether to show no spinner.
    func session(
        of account: Account, in vault: Vault, isReusable: Bool = false, mayAttach: Bool = true, isQuiet: Bool
    ) async throws -> Session {
        if isReusable && mayAttach, let session = try await attached(to: account, in: vault) { return session }
        let terminal = try await Asking.terminal()
        try vault.accounts.requireAllowedServers(of: account)
        func session(_ method: UnlockMethod) async throws -> Session {
            try await Spinner.during("Signing in as \(Printable.text(account.displayName))", isQuiet: isQuiet) {
                try await vault.auth.unlock(account.id, with: method)
            }
        }
        guard !isNamed, !password.isGiven, terminal.isInteractive else {
            return try await session(
                isReusable ? reusableMethod(for: account, terminal) : method(for: account, terminal))
        }
        let hardware = Hardware(try await Settings())
        let accounts = try vault.accounts
        var kinds = try await convenientKinds(of: account, accounts, hardware, terminal, isQuiet: isQuiet)[...]
        while let kind = kinds.popFirst() {
            do {
                return try await session(method(kind, for: account, hardware, terminal, canBeSkipped: !kinds.isEmpty))
            } catch {
                if (error as? VaultError)?.code == .keyServiceUnavailable {
                    kinds.removeAll { !account.opens(offline: $0) }
                }
                guard let next = kinds.first, let reason = Self.uselessness(of: kind, error) else { throw error }
                Self.tell(terminal, reason, next: next)
            }
        }
        throw account.withoutPassword
    }

    /// The agent's session; nil if there is none, or if an option names an unlock method or gives a secret.
    func attached(to account: Account, in vault: Vault) async throws -> Session? {
        guard !agent.noAgent, !isNamed, !password.isGiven, try await Settings().usesAgent else { return nil }
        do {
            return try await vault.auth.attach(account.id)
        } catch let error as VaultError where error.code == .notLoggedIn {
            return nil
        }
    }

    /// The unlock methods to try, in this order. There is at least one.
    private func convenientKinds(
        of account: Account, _ accounts: Accounts, _ hardware: Hardware, _ terminal: any Terminal, isQuiet: Bool
    ) async throws -> [Keyslot.Kind] {
        let policy = accounts.policy
        let slots = account.keyslots.filter { $0.kind.isHardware && policy.allows($0) }
        // The password comes last: it takes the longest to type.
        let typedMethods = MethodKind.all.filter { $0.secretName != nil && !$0.isOnlyOnRequest && $0.kind != .password }
        var typed = (typedMethods.map(\.kind) + [.password]).filter { account.keyslot($0) != nil && policy.allows($0) }
        // A key stays locked until somebody unlocks or replaces it. The person should not type its PIN each time.
        let refused = await accounts.refusedKeyslots(of: account)
        let useless = typed.filter { kind in
            kind != .password && account.keyslot(kind).map { refused[$0.id] != nil } == true
        }
        let isReplaceable = typed.last == .password
        if isReplaceable { typed.removeAll(where: useless.contains) }
        func tellRefused(next: Keyslot.Kind) {
            for kind in useless {
                let reason = account.keyslot(kind).flatMap { refused[$0.id] } ?? .locked
                Self.tell(terminal, Self.refused(kind, reason), next: next)
            }
        }
        guard !slots.isEmpty else {
            guard let first = typed.first else {
                for slot in account.keyslots { try accounts.requireAllowed(slot.kind) }
                throw account.withoutPassword
            }
            if isReplaceable { tellRefused(next: first) }
            return typed
        }
        let found = await Spinner.during("Looking for hardware", isQuiet: isQuiet) {
            await hardware.availability(of: slots, within: Hardware.glance)
        }
        var present: [Keyslot.Kind] = []
        for slot in slots where found[slot.id] == .available && !present.contains(slot.kind) {
            present.append(slot.kind)
        }
        // The fault of an only unlock method is reported when that way is used.
        guard let first = (present + typed).first else { return [slots[0].kind] }
        if isReplaceable && present.isEmpty { tellRefused(next: first) }
        for slot in slots {
            // If one token is there, another token of the same kind need not be.
            guard let state = found[slot.id], state != .available, state != .missing || !present.contains(slot.kind)
            else {
                continue
            }
            let name = slot.kind.displayName + (slot.label.map { " \"\($0)\"" } ?? "")
            let reason = if case .unusable(let text) = state { ": \(text)" } else { " is \(state.inWords)." }
            Self.tell(terminal, "The \(name)\(reason)", next: first)
        }
        return present + typed
    }

    private func method(
        _ kind: Keyslot.Kind, for account: Account, _ hardware: Hardware, _ terminal: any Terminal, canBeSkipped: Bool
    ) async throws -> UnlockMethod {
        guard let name = MethodKind.of(kind)?.secretName else {
            let prompt = TerminalPrompt(terminal: terminal, source: nil, canBeSkipped: canBeSkipped)
            return try guarded(.hardware(hardware.provider(kind), prompt))
        }
        let typed = SharedSecret(
            try await terminal.askSecret("\(name) of \(Printable.text(account.displayName)): "))
        if canBeSkipped && typed.bytes.count == 0 { throw SkippedMethod() }
        return guarded(.typing(typed, as: kind))
    }

    private static func tell(_ terminal: any Terminal, _ reason: String, next: Keyslot.Kind) {
        Spinner.stopAll()
        terminal.tell("vault: \(Printable.text(reason)) Next: the \(next.displayName).")
    }

    /// The reason why an unlock method cannot be used now, in a sentence; nil if the secret was wrong or something else
    /// failed.
    private static func uselessness(of kind: Keyslot.Kind, _ error: any Error) -> String? {
        if error is SkippedMethod {
            return kind.isHardware ? "No PIN for the \(kind.displayName)." : "No \(kind.displayName)."
        }
        guard let error = error as? VaultError else { return nil }
        return switch error.code {
        case .keyLocked: refused(kind, .locked)
        case .keyServiceUnavailable: error.description.replacing(" Try again later.", with: "")
        case .keyMissing: "The key service does not have the key of the \(kind.displayName) any more."
        case .hardwareLocked, .hardwareMissing, .hardwareReplaced, .hardwareFailed, .offlineTooLong: error.sentences
        default: nil
        }
    }
}

extension UnlockOptions {
    fileprivate static func refused(_ kind: Keyslot.Kind, _ reason: KeyslotNotes.Reason) -> String {
        let isReplaced = MethodKind.of(kind).map { $0.secretName != nil && $0.addition != nil } ?? false
        let advice = isReplaced ? " To make a new one: vault unlock add \(kind.rawValue)." : ""
        let state = reason == .locked ? "is \(reason.inWords)" : "was \(reason.inWords)"
        return "The \(kind.displayName) \(state).\(advice)"
    }
}

extension Account {
    /// Whether an unlock method opens the account without the key service.
    fileprivate func opens(offline kind: Keyslot.Kind) -> Bool {
        let kind = kind == .password ? .offline : kind
        return keyslots.contains { $0.kind == kind && !$0.needsKeyService }
    }

    /// The error if the password is needed and there is none.
    var withoutPassword: VaultError {
        let options = keyslots.compactMap { slot -> String? in
            slot.kind.isOfPassword ? nil : slot.kind.option
        }
        let rest = Set(options).sorted().joined(separator: ", ")
        return VaultError(
            .notEnrolled, "\(displayName) has no password." + (rest.isEmpty ? "" : " Use: \(rest)"))
    }
}

/// Thrown when the person typed nothing and wants the next unlock method.
struct SkippedMethod: Error {}
