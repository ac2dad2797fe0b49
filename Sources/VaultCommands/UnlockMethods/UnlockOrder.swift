internal import CredentialVault

/// The order in which unlock methods are tried if none is named: the desktop keyring, hardware, then the PIN, then the
/// password. Also the reasons why one is passed over.
enum UnlockOrder {
    /// The unlock methods to try, in this order. The list is empty only if all that could be tried are still locked.
    ///
    /// - Parameters:
    ///   - stillLocked: those whose keys are locked, as the key service has just said. They are not tried.
    ///   - changesMethods: whether the person changes the unlock methods, often because the PIN is forgotten or the
    ///     hardware lost. Then the password comes first unless it is known to be locked, and no method without a secret
    ///     comes at all.
    static func kinds(
        of account: Account, _ storage: any StorageProtocol, _ hardware: Hardware, _ terminal: any Terminal,
        stillLocked: [Keyslot.Kind], changesMethods: Bool, isQuiet: Bool
    ) async throws -> [Keyslot.Kind] {
        let policy = storage.policy
        let allowed = account.keyslots.filter {
            $0.kind.hasProvider && policy.allows($0) && !(changesMethods && $0.kind.asksNothing)
        }
        // The desktop keyring asks nothing, so it comes first.
        let slots = allowed.filter(\.kind.asksNothing) + allowed.filter(\.kind.isHardware)
        // The password comes last: it takes the longest to type.
        let typedMethods = MethodKind.all.filter { $0.secretName != nil && !$0.requiresOption && $0.kind != .password }
        var typed = (typedMethods.map(\.kind) + [.password]).filter { account.keyslot($0) != nil && policy.allows($0) }
        // A key stays locked until somebody unlocks or replaces it. The person should not type its PIN each time. But if
        // the password is locked, too, somebody may have unlocked either of them since then.
        let summaries = try await storage.keyslotSummaries(of: account.id)
        func state(_ kind: Keyslot.Kind) -> KeyslotSummary? {
            account.keyslot(kind).flatMap { slot in summaries.first { $0.id == slot.id } }
        }
        let refused = typed.filter { (state($0)?.state ?? .usable) != .usable }
        let isReplaceable = typed.last == .password
        // Only an unlock method that works can add a new one. `vault unlock add` must not propose itself.
        let opensOtherwise = !changesMethods && !(slots.isEmpty && typed.allSatisfy(refused.contains))
        if isReplaceable && !refused.contains(.password) { typed.removeAll { $0 != .password && refused.contains($0) } }
        if changesMethods && isReplaceable && !refused.contains(.password) {
            return [.password] + different(slots.map(\.kind)) + typed.dropLast()
        }
        let damaged = typedMethods.map(\.kind) + [.password]
        func tellDamaged(next: Keyslot.Kind) {
            for kind in damaged where account.keyslot(kind) == nil && policy.allows(kind) {
                guard account.damagedKeyslots.contains(where: { $0.kind == kind }) else { continue }
                let advice = opensOtherwise ? kind.remake.map { " To make a new one: \(Proposed.command($0))." } : nil
                Self.tell(terminal, "The \(kind.displayName) is damaged.\(advice ?? "")", next: next)
            }
        }
        typed.removeAll(where: stillLocked.contains)
        func tellRefused(next: Keyslot.Kind) {
            for kind in refused where kind != next && (kind != .password || changesMethods || typed.isEmpty) {
                let isLocked = stillLocked.contains(kind)
                let fact = isLocked ? "is still locked" : "was \(state(kind)?.stateInWords ?? "refused")"
                Self.tell(terminal, Self.refused(kind, fact, isAdvised: opensOtherwise), next: next)
            }
        }
        guard !slots.isEmpty else {
            guard let first = typed.first else {
                guard stillLocked.isEmpty else { return [] }
                for slot in account.keyslots { try policy.requireAllowed(slot.kind) }
                // Damaged unlock methods have an error of their own.
                guard account.damagedKeyslots.isEmpty else { return [.password] }
                throw account.withoutPassword
            }
            tellDamaged(next: first)
            if isReplaceable { tellRefused(next: first) }
            return typed
        }
        // Hardware that hangs must not delay a login that needs none.
        if !changesMethods, let kind = await unasked(of: account, policy, hardware) {
            return different([kind] + slots.map(\.kind)) + typed
        }
        let found = await Spinner.during("Looking for hardware", isQuiet: isQuiet) {
            await hardware.availability(of: slots, within: Hardware.glance)
        }
        let present = different(slots.filter { found[$0.id] == .available }.map(\.kind))
        // If there is only one unlock method, its fault is reported when it is used.
        guard let first = (present + typed).first else {
            tellRefused(next: slots[0].kind)
            return [slots[0].kind]
        }
        if present.isEmpty { tellDamaged(next: first) }
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

    /// Each kind once. An account can have several pieces of hardware of one kind.
    private static func different(_ kinds: [Keyslot.Kind]) -> [Keyslot.Kind] {
        kinds.enumerated().filter { kinds.firstIndex(of: $1) == $0 }.map(\.element)
    }

    /// The unlock method that opens the account now if nobody can be asked; nil if there is none.
    static func unasked(of account: Account, _ policy: VaultPolicy, _ hardware: Hardware) async -> Keyslot.Kind? {
        let slots = account.keyslots.filter { $0.kind.asksNothing && policy.allows($0) }
        guard !slots.isEmpty else { return nil }
        let found = await hardware.availability(of: slots, within: Hardware.glance)
        return slots.first { found[$0.id] == .available }?.kind
    }

    /// Tells the person why an unlock method is passed over, and which one is next.
    static func tell(_ terminal: any Terminal, _ reason: String, next: Keyslot.Kind) {
        Spinner.stopAll()
        terminal.tell("vault: \(Printable.text(reason)) Next: the \(next.displayName).")
    }

    /// The reason why an unlock method cannot be used now, in a sentence; nil if the secret was wrong or something else
    /// failed.
    ///
    /// - Parameter isAdvised: whether the sentence proposes to make a new secret in place of a locked one.
    static func uselessness(of kind: Keyslot.Kind, _ error: any Error, isAdvised: Bool) -> String? {
        if error is SkippedMethod {
            return kind.isHardware ? "No PIN for the \(kind.displayName)." : "No \(kind.displayName)."
        }
        guard let error = error as? VaultError else { return nil }
        return switch error.code {
        case .keyLocked: refused(kind, "is locked at the key service", isAdvised: isAdvised)
        case .keyServiceUnavailable: error.description.replacing(" Try again later.", with: "")
        case .keyMissing: "The key service does not have the key of the \(kind.displayName) any more."
        case .hardwareLocked, .hardwareMissing, .hardwareReplaced, .hardwareFailed, .offlineTooLong: error.sentences
        default: nil
        }
    }

    /// - Parameter fact: the rest of a sentence that begins with the unlock method.
    private static func refused(_ kind: Keyslot.Kind, _ fact: String, isAdvised: Bool) -> String {
        let advice = isAdvised ? kind.replacement.map { " To make a new one: \(Proposed.command($0))." } : nil
        return "The \(kind.displayName) \(fact).\(advice ?? "")"
    }
}
