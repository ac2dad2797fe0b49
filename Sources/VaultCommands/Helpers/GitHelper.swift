internal import ArgumentParser
internal import CredentialVault
internal import Foundation

/// A credential helper of git (gitcredentials(7), git-credential(1)).
struct GitHelper: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "git",
        abstract: "Answer git's question for a password with an access token.",
        discussion: """
            git runs this. To set it up:

              vault helper install git --host git.example.com --user alice

            vault gives the token only to the hosts of --host, over https. Plain http works only on this machine. If \
            git wants to store or erase a password, vault does nothing.
            """)

    @OptionGroup var host: HostOption

    @Option(help: ArgumentHelp("The user name in the answer, if git names none.", valueName: "name"))
    var username = HelperDefaults.username

    @OptionGroup var account: HelperAccount

    @Argument(help: "What git wants: get, store or erase.")
    var operation: String

    var global: GlobalOptions { account.global }

    func validate() throws {
        guard !host.hosts.isEmpty else { throw ValidationError("Name the server with --host.") }
    }

    func run() async throws {
        let request = GitRequest(try HelperInput.all())
        // Later versions of git may ask for other operations. git expects a helper to ignore those.
        guard operation == "get", let server = request.server, host.hosts.contains(server) else { return }
        let mayAsk = !GitRequest.isFalse(ProcessInfo.processInfo.environment["GIT_TERMINAL_PROMPT"])
        do {
            let token = try await account.token(for: .git, mayAsk: mayAsk)
            var lines = [
                "username=\(request.username ?? username)", "password=\(try token.text)",
            ]
            if let end = token.expiresAt { lines.append("password_expiry_utc=\(Int(end.timeIntervalSince1970))") }
            Output.raw(lines.joined(separator: "\n"))
        } catch {
            // Otherwise git would ask for a password, which this server does not accept.
            Output.raw("quit=1")
            throw error
        }
    }
}

/// A request of git: lines of `name=value`, up to an empty line. Unknown lines are ignored.
struct GitRequest {
    private var values: [String: String] = [:]

    init(_ input: [UInt8]) {
        for line in input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard !line.isEmpty else { return }
            guard let text = String(validating: line, as: UTF8.self), let sign = text.firstIndex(of: "=") else {
                continue
            }
            values[String(text[..<sign])] = String(text[text.index(after: sign)...])
        }
    }

    /// The server that wants the password; nil if it may not get a token.
    var server: HelperHost? {
        // These characters could hide another address in the host.
        guard let scheme = values["protocol"], ["https", "http"].contains(scheme), let host = values["host"],
            !host.contains(where: { "/?#@\\".contains($0) })
        else { return nil }
        return HelperHost(url: "\(scheme)://\(host)")
    }

    /// The user name that git already has.
    var username: String? {
        values["username"].flatMap { name in
            name.isEmpty || name.unicodeScalars.contains { $0.properties.generalCategory == .control } ? nil : name
        }
    }

    static func isFalse(_ value: String?) -> Bool {
        value.map { ["0", "false", "no", "off", ""].contains($0.lowercased()) } ?? false
    }
}
