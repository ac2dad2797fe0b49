internal import ArgumentParser
internal import CredentialVault
internal import Foundation
internal import VaultBase

extension BackendCommand {
    struct Sessions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sessions", abstract: "List the sessions of an account at its backend, and end one.",
            subcommands: [List.self, End.self], defaultSubcommand: List.self)

        struct List: AsyncParsableCommand, JSONCommand {
            static let configuration = CommandConfiguration(
                commandName: "list", abstract: "List the sessions of an account at its backend.")

            @OptionGroup var user: UserOption
            @OptionGroup var unlock: UnlockOptions
            @OptionGroup var global: GlobalOptions

            func run() async throws {
                let sessions = try await Sessions.open(user, unlock, global, countsOpen: true)
                let all = try await Spinner.during("Asking the backend", isQuiet: global.json) {
                    try await sessions.list()
                }
                if global.json { return Output.json(all.map(Report.init)) }
                for session in all {
                    var words = [Printable.text(session.id), session.name.map(Printable.text) ?? "-"]
                    if let used = session.lastUsedAt {
                        words.append("last used \(used.localText)")
                    } else if let created = session.createdAt {
                        words.append("since \(created.localText)")
                    }
                    if session.isCurrent { words.append("(this one)") }
                    Output.line(words.joined(separator: "  "))
                }
                if all.isEmpty { Output.note("The backend lists no session.") }
            }
        }

        struct End: AsyncParsableCommand, JSONCommand {
            static let configuration = CommandConfiguration(
                commandName: "end", abstract: "End a session of an account at its backend.")

            @Argument(help: ArgumentHelp("The id of the session. See: vault backend sessions", valueName: "id"))
            var id: String
            @OptionGroup var user: UserOption
            @OptionGroup var unlock: UnlockOptions
            @OptionGroup var global: GlobalOptions

            func run() async throws {
                let sessions = try await Sessions.open(user, unlock, global)
                try await Spinner.during("Ending the session", isQuiet: global.json) { try await sessions.end(id) }
                if global.json { return Output.json(["ended": id]) }
                Output.line("Ended the session \(Printable.text(id)).")
            }
        }

        private static func open(
            _ user: UserOption, _ unlock: UnlockOptions, _ global: GlobalOptions, countsOpen: Bool = false
        ) async throws -> BackendSessions {
            let vault = try await unlock.openVault(global)
            let account = try await user.account(in: vault, countsOpen: countsOpen)
            let configuration = try await Settings(global).configuration()
            func sessions(_ transport: any HTTPTransport) throws -> BackendSessions {
                try BackendSessions(of: account, settings: configuration.backend, transport: transport)
            }
            // A layout without a list is found before a person types a secret.
            _ = try sessions(vault.auth.authorizedTransport(for: []))
            let session = try await unlock.session(
                of: account, in: vault, isReusable: true, needsToken: true, global)
            return try sessions(session.authorizedTransport(for: [account.id.issuer]))
        }

        private struct Report: Encodable {
            let id: String
            let name: String?
            let createdAt: Date?
            let lastUsedAt: Date?
            let current: Bool

            init(_ session: BackendSession) {
                id = session.id
                name = session.name
                createdAt = session.createdAt
                lastUsedAt = session.lastUsedAt
                current = session.isCurrent
            }
        }
    }
}
