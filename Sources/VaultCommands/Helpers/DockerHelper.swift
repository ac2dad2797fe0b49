internal import ArgumentParser
internal import CredentialVault
internal import Foundation

/// A credential helper of docker (github.com/docker/docker-credential-helpers).
struct DockerHelper: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "docker",
        abstract: "Answer docker's question for a password with an access token.",
        discussion: """
            docker runs this as docker-credential-vault-HOST. To set it up:

              vault helper install docker --host registry.example.com --user alice

            vault gives the token only to the registries of --host. If docker wants to store or erase a password for \
            them, vault does nothing.
            """)

    enum Operation: String, ExpressibleByArgument { case get, list, store, erase }

    private enum Words {
        /// docker compares exactly these words.
        static let notFound = "credentials not found in native keychain"
    }

    @OptionGroup var host: HostOption

    @Option(help: ArgumentHelp("The user name in the answer.", valueName: "name"))
    var username = HelperDefaults.username

    @OptionGroup var account: HelperAccount

    @Argument(help: "What docker wants: get, list, store or erase.")
    var operation: Operation

    var global: GlobalOptions { account.global }

    func validate() throws {
        guard !host.hosts.isEmpty else { throw ValidationError("Name the registry with --host.") }
    }

    func run() async throws {
        do {
            try await answer()
        } catch {
            // docker shows the standard output of a helper that fails.
            guard let error = VaultError.converting(error) as? VaultError else { throw error }
            if error.meansLocked { await Proposed.noteLock() }
            Output.raw("vault: \(Printable.text(error.text))")
            throw ExitCode(ExitStatus.of(error.code))
        }
    }

    private func answer() async throws {
        switch operation {
        case .list:
            try HelperJSON.write(Dictionary(uniqueKeysWithValues: Set(host.hosts).map { ($0.url, username) }))
        case .get:
            let server = String(decoding: try HelperInput.all(), as: UTF8.self).trimmingCharacters(
                in: .whitespacesAndNewlines)
            guard isOurs(server) else { try refuse(Words.notFound) }
            let token = try await account.token(for: .docker)
            try HelperJSON.write(["ServerURL": server, "Username": username, "Secret": try token.text])
        case .erase:
            _ = try HelperInput.all()
        case .store:
            let request = try? JSONSerialization.jsonObject(with: Data(HelperInput.all())) as? [String: Any]
            // After each login, docker stores the token that it got here. Other passwords must not be lost silently.
            guard let server = request?["ServerURL"] as? String, isOurs(server) else {
                try refuse(
                    "vault: nothing was stored. This helper is for \(host.hosts.map(\.authority).listed("and")).")
            }
        }
    }

    /// Whether a registry may get the token. docker names the registry by host or by URL.
    private func isOurs(_ server: String) -> Bool {
        if !server.contains("://"), let host = HelperHost(url: "http://\(server)"), self.host.hosts.contains(host) {
            return true
        }
        return HelperHost(url: server.contains("://") ? server : "https://\(server)").map(host.hosts.contains) ?? false
    }

    private func refuse(_ reason: String) throws -> Never {
        Output.raw(reason)
        throw ExitCode(ExitStatus.other)
    }
}

/// JSON with the member names of other programs.
enum HelperJSON {
    static func write(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        Output.raw(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}
