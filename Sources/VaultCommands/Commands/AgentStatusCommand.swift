internal import ArgumentParser
internal import CredentialVault
internal import Foundation
internal import VaultAgent
internal import VaultAgentProtocol

extension AgentCommand {
    struct Status: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show whether the agent runs and which sessions it holds.")

        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let status: AgentStatus
            let agent = try await AgentSessions(Settings(global))
            do {
                status = try await agent.status()
            } catch let error as VaultError where error.code == .notLoggedIn {
                if global.json { return Output.json(Report(nil)) }
                return Output.sentence(agent.hasPlace ? "No agent runs. \(await nextStep())" : error.description)
            }
            if global.json { return Output.json(Report(status)) }
            Output.sentence("The agent runs as process \(status.process), for \(Printable.text(status.folder)).")
            if status.isConfirming {
                Output.sentence("It asks before another process uses a session for the first time.")
            }
            for line in status.listening { Output.sentence(Printable.text(line)) }
            if status.sessions.isEmpty { Output.sentence("No session is open.") }
            for session in status.sessions {
                Output.sentence(Printable.text("\(session.name): \(Self.words(session))"))
            }
            if !status.locked.isEmpty { Output.sentence(await Self.sentence(aboutLocked: status.locked, global)) }
        }

        /// The sentence with the next command if no agent runs.
        private func nextStep() async -> String {
            // If the accounts cannot be read, the login says why.
            guard let accounts = try? await global.openVault().storage.all(), accounts.isEmpty,
                let settings = try? await Settings(global)
            else { return "To log in, and start it: vault login" }
            return VaultError.noAccount(settings).description
        }

        /// The names of the locked accounts, and the next command.
        private static func sentence(aboutLocked locked: [AgentAccount], _ global: GlobalOptions) async -> String {
            let (ids, vault) = (locked.map { AccountID($0) }, try? await global.openVault())
            var names: [String] = []
            for id in ids {
                // The agent knows only the subjects.
                names.append((try? await vault?.storage.account(id).displayName) ?? id.subject)
            }
            let text = "Locked: \(names.map(Printable.text).joined(separator: ", "))."
            guard let vault, await LockedOut.known(of: ids, in: vault).count == ids.count else {
                return "\(text) To open again: vault agent unlock"
            }
            var commands: [String] = []
            for id in ids { commands.append("vault unlock list\(await vault.userOption(of: id))") }
            let them = ids.count == 1 ? "this account" : "these accounts"
            return
                "\(text) All unlock methods of \(them) are locked, too. To see them: \(commands.joined(separator: "; "))"
        }

        /// The state of a session, in words for a person.
        static func words(_ session: AgentHolding) -> String {
            var parts = [session.isOffline ? "open without the network" : "open"]
            if let left = session.idleLeft { parts.append("locks in \(time(left)) if not used") }
            if let left = session.lifetimeLeft { parts.append("locks in \(time(left)) in any case") }
            if let refusal = session.refusal { parts = ["refused by the identity provider: \(refusal.message)"] }
            return parts.joined(separator: "; ")
        }

        private static func time(_ seconds: Double) -> String {
            let minutes = Int((seconds / 60).rounded(.up))
            return minutes < 120 ? "\(minutes) min" : "\(minutes / 60) h \(minutes % 60) min"
        }

        private struct Report: Encodable {
            struct Session: Encodable {
                let subject: String
                let issuer: String
                let name: String
                let offline: Bool
                /// Seconds.
                let idleLeft: Double?
                /// Seconds.
                let lifetimeLeft: Double?
                /// Why the identity provider refused the account.
                let refused: String?
            }

            let running: Bool
            let process: UInt32?
            let folder: String?
            let confirms: Bool?
            let listening: [String]?
            let sessions: [Session]
            let locked: [AccountID]

            init(_ status: AgentStatus?) {
                running = status != nil
                process = status?.process
                folder = status?.folder
                confirms = status?.isConfirming
                listening = status?.listening
                sessions = (status?.sessions ?? []).map {
                    Session(
                        subject: $0.account.subject, issuer: $0.account.issuer, name: $0.name, offline: $0.isOffline,
                        idleLeft: $0.idleLeft, lifetimeLeft: $0.lifetimeLeft, refused: $0.refusal?.message)
                }
                locked = (status?.locked ?? []).map { AccountID($0) }
            }
        }
    }
}
