internal import ArgumentParser
internal import CredentialVault
internal import Foundation
internal import VaultBase

struct StatusCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the state of an account. Needs no password and no network.")

    @OptionGroup var user: UserOption
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await global.openVault()
        let account = try await user.account(in: vault, countsOpen: true)
        let names = try await vault.storage.itemNames(of: account.id)
        let offlineUntil = try await vault.storage.endOfOpeningOffline(of: account.id)
        let grant = Grant(of: account)
        let held = try await AgentSessions(Settings(global)).holding(account.id)
        let policy = vault.storage.policy
        let slots = try await vault.storage.keyslotSummaries(of: account.id)
        let told = try await vault.storage.guessesElsewhere(of: account.id)
        let rule = policy.rule(against: account)
        let report = Report(
            account: AccountReport(account),
            unlockMethods: slots.map { UnlockMethodReport($0, hardware: nil) },
            hasRefreshToken: try await vault.storage.hasItem(.refreshToken, of: account.id),
            refusedAt: account.refusedAt,
            hasAccessToken: try await vault.storage.hasItem(.accessToken, of: account.id), scopes: grant.scopes,
            accessTokenExpiresAt: grant.accessTokenExpiresAt, lastOnlineAt: account.lastOnlineAt,
            opensOfflineUntil: offlineUntil, isOffline: account.wasOpenedOffline,
            guessesElsewhere: told.map(Guesses.init), refreshInterruptedAt: account.refreshStartedAt,
            isOpenInAgent: held != nil, forbiddenBy: rule,
            maximumIdleMinutes: policy.maximumIdleMinutes, maximumSessionHours: policy.maximumSessionHours,
            items: names.map(\.rawValue))
        if global.json { return Output.json(report) }
        var end = "; no expiry known"
        if let date = grant.accessTokenExpiresAt {
            let isOver = date <= SystemWallClock().now
            end = (isOver ? "; ended at " : "; valid until ") + date.localText
        }
        let refused = account.refusedAt.map { "; refused at \($0.localText): register again" } ?? ""
        let tokenType = account.hasBoundTokens ? "DPoP (bound to a key)" : account.accessTokenType ?? "not known"
        let lastOnline = account.lastOnlineAt?.localText ?? "-"
        let interrupted = account.refreshStartedAt.map { "a refresh at \($0.localText) did not end" }
        let offline =
            account.hasKeyService
            ? offlineUntil.map { "opens without the network until \($0.localText)" }
            : "opens without the network, for any number of days"
        var lines: [(String, String)] = [
            ("User", account.displayName), ("Subject", account.id.subject), ("Issuer", account.id.issuer),
            ("Alias", account.alias ?? "-"), ("E-mail", account.email ?? "-"), ("Method", account.method.rawValue),
            ("Client", account.clientID.isEmpty ? "-" : account.clientID),
            ("Key service", account.hasKeyService ? account.keyServiceURL : "none. \(NoKeyServiceOptions.fact)"),
            ("Unlock methods", slots.map(Self.words).joined(separator: ", ")),
            ("Last online", lastOnline + (account.wasOpenedOffline ? "; opened without the network since then" : "")),
            ("Offline", offline ?? "does not open without the network"),
            (
                "Policy",
                rule.map { "forbids this account (\($0))" } ?? policy.sessionLimit.map { "a session ends \($0)" }
                    ?? "allows this account"
            ),
            ("Registered", account.createdAt.localText),
            ("Refresh token", report.hasRefreshToken ? "stored, sealed" + refused : Self.withoutToken(account)),
            ("Access token", report.hasAccessToken ? "stored, sealed" + end : "none"),
            ("Token type", tokenType),
            ("Scopes", grant.scopes?.joined(separator: " ") ?? "not known"),
            ("Session", held.map(AgentCommand.Status.words) ?? "not open"), ("Interrupted", interrupted ?? "no"),
            ("Other guesses", told.map(Self.words) ?? "none"),
            ("Items", "\(report.items.count)"),
        ]
        if account.id.usesInsecureHTTP { lines.append(("Connection", "plain http: not encrypted")) }
        for claim in account.displayClaims.sorted(by: { $0.key < $1.key }) {
            lines.append((Printable.text(claim.key), claim.value))
        }
        Output.lines(lines.map { LabelledText(label: "\($0.0):", text: Printable.text($0.1), width: 16) })
    }

    /// Why the account has no refresh token, and the next step. Only an imported account was never online here.
    private static func withoutToken(_ account: Account) -> String {
        account.lastOnlineAt == nil
            ? "none: never signed in on this machine. \(Proposed.registering("Next"))"
            : "none: logged out, and the token deleted. \(Proposed.registering("Next"))"
    }

    private static func words(_ told: GuessesElsewhere) -> String {
        let last = told.last.map { ", the last one at \($0.localText)" } ?? ""
        return
            "\(told.count) with the \(told.keyslot.rawValue)\(last)\(told.mayBeRight ? "; perhaps right" : "")"
    }

    /// The guesses that the last notice was about.
    private struct Guesses: Encodable {
        let unlockMethod: String
        let count: Int
        let last: Date?
        let perhapsRight: Bool
        let toldAt: Date

        init(_ told: GuessesElsewhere) {
            (unlockMethod, count, last) = (told.keyslot.rawValue, told.count, told.last)
            (perhapsRight, toldAt) = (told.mayBeRight, told.toldAt)
        }
    }

    private static func words(_ slot: KeyslotSummary) -> String {
        let remarks = [slot.keyServiceProtocol.map { "protocol \($0)" }, slot.stateInWords].compactMap(\.self)
        return slot.kind.rawValue + (remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))")
    }

    private struct Report: Encodable {
        let account: AccountReport
        /// The unlock methods, with the state at the last try. The hardware is not looked for.
        let unlockMethods: [UnlockMethodReport]
        let hasRefreshToken: Bool
        /// When the provider refused the stored token for good; nil if it did not.
        let refusedAt: Date?
        let hasAccessToken: Bool
        /// The granted scopes; nil if the provider did not name them.
        let scopes: [String]?
        /// Nil if no access token is stored, or if its expiry is not known.
        let accessTokenExpiresAt: Date?
        let lastOnlineAt: Date?
        /// The end of opening without the network; nil if the account does not open so.
        let opensOfflineUntil: Date?
        /// Whether the account was opened without the network and was not online since then.
        let isOffline: Bool
        /// The last notice about guesses that were not made with this store; nil if there was none.
        let guessesElsewhere: Guesses?
        let refreshInterruptedAt: Date?
        /// Whether the agent holds a session of the account.
        let isOpenInAgent: Bool
        /// The policy rule that forbids the account.
        let forbiddenBy: String?
        let maximumIdleMinutes: Int?
        let maximumSessionHours: Int?
        let items: [String]
    }
}
