internal import ArgumentParser
internal import CredentialVault
internal import Foundation

struct StatusCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show what is stored of an account. Needs no password and no network.")

    @OptionGroup var user: UserOption
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await global.openVault()
        let account = try await user.account(in: vault)
        let names = try await vault.accounts.store.itemNames(of: account.id)
        let offlineUntil = vault.accounts.endOfOpeningOffline(account)
        let report = Report(
            account: AccountReport(account), hasRefreshToken: names.contains(.refreshToken),
            hasAccessToken: names.contains(.accessToken), lastOnlineAt: account.lastOnlineAt,
            opensOfflineUntil: offlineUntil, isOffline: account.wasOpenedOffline,
            refreshInterruptedAt: account.refreshStartedAt,
            items: names.filter { !$0.isReserved }.map(\.rawValue))
        if global.json { return Output.json(report) }
        let date = Date.ISO8601FormatStyle.iso8601
        let lines = [
            ("User", account.displayName), ("Subject", account.id.subject), ("Issuer", account.id.issuer),
            ("Alias", account.alias ?? "-"), ("E-mail", account.email ?? "-"), ("Method", account.method.rawValue),
            ("Client", account.clientID.isEmpty ? "-" : account.clientID),
            ("Key service", account.keyServiceURL),
            ("Ways in", account.keyslots.map(\.kind.rawValue).joined(separator: ", ")),
            (
                "Last online",
                (account.lastOnlineAt?.formatted(date) ?? "-")
                    + (account.wasOpenedOffline ? "; opened without the network since then" : "")
            ),
            (
                "Offline",
                offlineUntil.map { "opens without the network until \($0.formatted(date))" }
                    ?? "does not open without the network"
            ),
            ("Registered", account.createdAt.formatted(date)),
            ("Refresh token", report.hasRefreshToken ? "stored, sealed" : "none: register again"),
            ("Access token", report.hasAccessToken ? "stored, sealed" : "none"),
            ("Interrupted", account.refreshStartedAt.map { "a refresh at \($0.formatted(date)) did not end" } ?? "no"),
            ("Items", "\(report.items.count)"),
        ]
        for (name, value) in lines { Output.line("\(name):".padded(to: 16) + Printable.text(value)) }
    }

    private struct Report: Encodable {
        let account: AccountReport
        let hasRefreshToken: Bool
        let hasAccessToken: Bool
        let lastOnlineAt: Date?
        /// Until when it opens without the network, where it does at all.
        let opensOfflineUntil: Date?
        /// Whether it was opened without the network, and not online since.
        let isOffline: Bool
        let refreshInterruptedAt: Date?
        let items: [String]
    }
}
