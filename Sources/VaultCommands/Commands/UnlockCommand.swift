internal import ArgumentParser
internal import CredentialVault
internal import Foundation
internal import VaultBase

struct UnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock", abstract: "List, add, rename, remove and reset the unlock methods of an account.",
        subcommands: [List.self, Add.self, Rename.self, Remove.self, Reset.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Show the unlock methods of an account. Needs no password and no network.",
            discussion: """
                vault checks the hardware and the desktop keyring now, but does not ask the key service. "Locked" and \
                the guesses that are left are from the last answer that this machine got. A locked key may have been \
                unlocked since then. vault login and vault doctor ask the key service again, without a guess.

                For each locked key, vault prints the command for the operator of the key service. If a sign-in may \
                unlock a key, vault also names vault unlock reset. With --json, vault prints the ids of all keys.
                """)

        @OptionGroup var user: UserOption
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let vault = try await global.openVault()
            let account = try await user.account(in: vault, countsOpen: true)
            let hardware = try await states(ofHardware: account)
            let slots = try await vault.storage.keyslotSummaries(of: account.id)
            let rows = slots.map { UnlockMethodReport($0, hardware: hardware[$0.id]) }
            if global.json { return Output.json(rows) }
            let table =
                [["KIND", "LABEL", "PROTOCOL", "ADDED", "LAST USED", "STATE"]]
                + zip(slots, rows).map { slot, row in
                    [
                        row.needsKeyService == false && row.kind != "offline" ? "\(row.kind), offline" : row.kind,
                        row.label.map(Printable.text) ?? "-", row.keyServiceProtocol.map { "\($0)" } ?? "-",
                        row.addedAt?.localText ?? "-", row.lastUsedAt?.localText ?? "-",
                        slot.stateInWords.map { slot.state == .locked ? "\($0); vault login asks again" : $0 }
                            ?? row.hardware ?? "ready",
                    ]
                }
            Output.table(Table(rows: table))
            if slots.areRevoked {
                Output.line("\(KeyslotSummary.revocation) \(Proposed.registering())")
            }
            try await showReset(of: slots.filter { $0.state == .locked }, account, vault)
            for slot in slots where slot.state == .locked {
                if let command = slot.operatorsCommand(at: account.keyServiceURL) {
                    // In one line, so that the command can be copied.
                    Output.line("To unlock \(slot.name), \(command)")
                }
            }
        }

        /// Tells for each locked key whether a sign-in may unlock it now, or from when on.
        private func showReset(of locked: [KeyslotSummary], _ account: Account, _ vault: Vault) async throws {
            let slots = locked.filter { ($0.keyServiceProtocol ?? 0) >= 2 }
            let accounts = try vault.accounts
            guard !slots.isEmpty, await accounts.mayBeUnlockedByOwner(account) else { return }
            let times = await accounts.ownerUnlockTimes(of: account)
            for slot in slots {
                if let time = slot.keyID.flatMap({ times[$0] }) {
                    Output.line("A sign-in can unlock \(slot.name) again after \(time.localText).")
                }
            }
            let ready = slots.filter { slot in slot.keyID.map { times[$0] == nil } ?? false }.map(\.name)
            guard !ready.isEmpty else { return }
            Output.line(
                "To unlock \(ready.listed("and")) by a sign-in, if the key service allows that: \(Proposed.command("unlock reset"))"
            )
        }

        /// The state of each piece of hardware in words, by the keyslot's id.
        private func states(ofHardware account: Account) async throws -> [String: String] {
            let hardware = Hardware(try await Settings(global))
            let slots = account.keyslots.filter(\.kind.hasProvider)
            let found = await Spinner.during("Looking for hardware", isQuiet: global.json || slots.isEmpty) {
                await hardware.availability(of: slots, within: .seconds(10))
            }
            return found.mapValues(\.inWords)
        }
    }

    /// Refuses a label that is the name of a kind, because it would be ambiguous.
    static func requireNoKind(_ label: String) throws {
        guard MethodKind.typed(label) == nil else {
            throw ValidationError("\(label) is a kind of unlock method. Choose another label.")
        }
    }

    struct Rename: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "rename", abstract: "Give an unlock method another label. Needs no password and no network.")

        @Argument(help: "The kind, label or id of the unlock method.", completion: .keyslots) var method: String
        @Argument(help: "The new label.") var label: String
        @OptionGroup var user: UserOption
        @OptionGroup var global: GlobalOptions

        func validate() throws {
            guard (1...100).contains(label.count), !label.contains(where: \.isNewline) else {
                throw ValidationError("A label has 1 to 100 characters on one line.")
            }
            try UnlockCommand.requireNoKind(label)
        }

        func run() async throws {
            let vault = try await global.openVault()
            let account = try await user.account(in: vault)
            let slot = try account.keyslot(named: method)
            try await vault.storage.renameKeyslot(slot.id, of: account.id, to: label)
            if global.json { return Output.json(["renamed": slot.id]) }
            Output.line("The \(slot.kind.displayName) has the label \(label) now.")
        }
    }

    struct Remove: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove an unlock method. The last one cannot be removed.",
            discussion: """
                  vault unlock remove pin
                  vault unlock remove pin --yes

                Needs no password. vault asks first, and names the unlock methods that are left. If you remove the password, \
                the offline method goes, too. vault also ends the key at the key service. If the key service cannot be \
                reached, the next login tries again.
                """)

        @Argument(help: "The kind, label or id of the unlock method.", completion: .keyslots) var method: String
        @Flag(help: "Do not ask.")
        var yes = false
        @OptionGroup var user: UserOption
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let vault = try await global.openVault()
            let account = try await user.account(in: vault)
            let kind = MethodKind.typed(method)?.kind
            let damaged = account.damagedKeyslots.first {
                $0.id == method || $0.kind == kind && account.keyslot($0.kind) == nil
            }
            let slot = damaged == nil ? try account.keyslot(named: method) : nil
            let id = damaged?.id ?? slot?.id ?? method
            if !yes { try await KeyslotRemoval(of: id, from: account, vault.storage).confirm(isJSON: global.json) }
            try await vault.storage.removeKeyslot(id, of: account.id)
            await Hardware(try await Settings(global)).forgetEnded(of: account, in: vault)
            if global.json { return Output.json(["removed": id]) }
            let name = Printable.text(account.displayName)
            guard slot?.kind != .offline else {
                return Output.line("The password does not open \(name) without the network any more.")
            }
            Output.line("The \(slot?.kind.displayName ?? "damaged keyslot") does not open \(name) any more.")
            if slot?.kind == .password && account.keyslot(.offline) != nil {
                Output.line("The password does not open \(name) without the network any more.")
            }
        }
    }
}

extension Account {
    /// The unlock method with this kind, label or id.
    func keyslot(named name: String) throws -> Keyslot {
        var matches = keyslots.filter { $0.kind.rawValue == name || $0.label == name || $0.id == name }
        // An exact name wins over another spelling of a kind.
        if matches.isEmpty, let kind = MethodKind.typed(name)?.kind { matches = keyslots.filter { $0.kind == kind } }
        guard let first = matches.first else {
            throw VaultError(
                .notEnrolled, "There is no unlock method called \(name). See: \(Proposed.command("unlock list"))")
        }
        guard matches.count == 1 else {
            let list = matches.map { "  \($0.kind.rawValue)  \($0.label ?? "-")  \($0.id)" }.joined(separator: "\n")
            throw VaultError(.notEnrolled, "There are several unlock methods called \(name). Use an id:\n\(list)")
        }
        return first
    }
}
