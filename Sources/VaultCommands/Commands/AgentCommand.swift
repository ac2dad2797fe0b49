internal import ArgumentParser
internal import CredentialVault
internal import Foundation
internal import VaultAgent
internal import VaultAgentProtocol

struct AgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Keep sessions open between commands.",
        discussion: """
            The agent is a process that keeps the keys of open accounts in memory. "vault login" starts the agent. \
            Then commands such as "vault token" do not ask for a password. To keep the session open after other \
            commands that ask, too: vault config set open-session yes

            The agent locks a session after 15 minutes without use, and 12 hours after the login. It also locks all \
            sessions when the screen is locked and before the machine sleeps, if systemd-logind tells it. "vault \
            agent status" says whether it does. To lock one session: vault lock. To change the limits:

              vault config set idle-timeout MINUTES
              vault config set session-lifetime HOURS

            Root and each program of your user can use an open session.
            """,
        subcommands: [Start.self, Stop.self, Status.self, Lock.self, Unlock.self, Install.self, Uninstall.self])

    struct Start: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "start", abstract: "Start the agent. \"vault login\" does that by itself.")

        @Flag(help: "Stay in the foreground, for a service manager.")
        var foreground = false

        @Flag(help: "Ask in a window before another process uses a session for the first time. Needs pinentry.")
        var confirm = false

        @Option(name: .customLong("ready-fd"), help: .hidden)
        var readyDescriptor: Int32?

        @OptionGroup var global: GlobalOptions

        func run() async throws {
            guard foreground else {
                if confirm { _ = try await AgentConsent.make() }
                try await AgentLauncher.start(global, options: confirm ? ["--confirm"] : [])
                if confirm, try await !AgentSessions(Settings(global)).status().isConfirming {
                    throw VaultError(
                        .busy,
                        "An agent runs without --confirm. Type: vault agent stop && vault agent start --confirm")
                }
                return Report(running: true).show("The agent runs.", global)
            }
            do {
                let consent = confirm ? try await AgentConsent.make() : nil
                let process = AgentProcess(global: global, consent: consent)
                // A signal ends the agent cleanly. The agent may have to wait for the provider and the store.
                try await Interruption.cancelling(within: .seconds(60)) { [readyDescriptor] in
                    try await process.run { Self.tell(AgentLauncher.ready, readyDescriptor) }
                }
            } catch let error as VaultError {
                // Two commands may start an agent at once. One agent is enough.
                Self.tell(
                    error.code == .busy && readyDescriptor != nil ? AgentLauncher.ready : error.text,
                    readyDescriptor)
                throw error
            }
        }

        private static func tell(_ text: String, _ descriptor: Int32?) {
            guard let descriptor else { return }
            let line = Array((text.split(separator: "\n").joined(separator: " ") + "\n").utf8)
            _ = write(descriptor, line, line.count)
            close(descriptor)
        }
    }

    struct Unlock: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "unlock",
            abstract: "Open the locked sessions again.",
            discussion: """
                Asks for the password, PIN or hardware of each account, as "vault login" does. With --user, vault \
                opens this account only. The setting user has no effect here. If nothing is locked, vault says so \
                (exit status 0).
                """)

        @Option(
            help: ArgumentHelp(
                "The account: its subject, alias, e-mail address or user name. (default: all that are locked)",
                valueName: "id"), completion: .users)
        var user: String?

        @OptionGroup var unlock: UnlockOptions
        @OptionGroup var holding: HoldingOptions
        @OptionGroup var consent: ClosingOptions
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let status = try await AgentSessions(Settings(global)).statusIfRuns()
            let vault = try await unlock.openVault(global)
            let open = status?.sessions.map { AccountID($0.account) } ?? []
            var locked = status?.locked ?? []
            if let user {
                let account = try await UserOption.account(user, in: vault)
                locked.removeAll { AccountID($0) != account.id }
                guard !locked.isEmpty else {
                    let (name, option) = (account.displayName, await vault.storage.userOption(of: account.id))
                    return tellNoneLocked(
                        open.contains(account.id)
                            ? "\(Printable.text(name)) is open already."
                            : "No session of \(Printable.text(name)) is locked. To log in: vault login \(option)"
                    )
                }
            }
            guard !locked.isEmpty else {
                return tellNoneLocked(try await "No session is locked. \(nextStep(isOpen: !open.isEmpty, in: vault))")
            }
            var names: [String] = []
            var failure: VaultError?
            for id in locked {
                do {
                    let account = try await vault.storage.account(AccountID(id))
                    await Proposed.note(account, in: vault)
                    let name = Printable.text(account.displayName)
                    let session = try await unlock.session(of: account, in: vault, global)
                    guard try await holding.leaveToAgent(session, unlock.agent, saysYes: consent.yes, global)
                    else { continue }
                    names.append(name)
                    if !global.json { Output.line("Opened \(name).") }
                } catch let error as VaultError where mayGoOn(after: error) && id != locked.last {
                    Output.note("vault: \(error.text)")
                    failure = failure ?? error
                }
            }
            if global.json { Output.json(["opened": names]) }
            if let failure { throw ExitCode(ExitStatus.of(failure.code)) }
        }

        private func tellNoneLocked(_ text: String) {
            if global.json { Output.json(["opened": [String]()]) } else { Output.line(text) }
        }

        /// A sentence with a command that can be typed as it is, if no session is locked.
        ///
        /// - Parameter isOpen: whether a session is open.
        /// - Throws: `VaultError` with code `accountNotFound` if there is no account.
        private func nextStep(isOpen: Bool, in vault: Vault) async throws -> String {
            if isOpen { return "To see the open sessions: vault agent status" }
            guard let account = try await vault.storage.all().first else {
                throw try await VaultError.noAccount(Settings(global))
            }
            let several = await vault.userOption(of: account.id)
            return "To log in\(several.isEmpty ? "" : ", for example"): vault login\(several)"
        }

        /// Whether to go on with the next account. A given password is not tried on the next account, because each
        /// wrong password costs a guess.
        private func mayGoOn(after error: VaultError) -> Bool {
            error.code != .cancelled && !unlock.password.isGiven && !global.json
        }
    }

    struct Report: Encodable {
        let running: Bool

        /// - Parameter next: sentences with commands. If there are several, each gets a line of its own.
        func show(_ text: String, next: [String] = [], _ global: GlobalOptions) {
            if global.json { return Output.json(self) }
            Output.line(([text] + next).joined(separator: next.count == 1 ? " " : "\n"))
        }
    }
}
