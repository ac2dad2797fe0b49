internal import CredentialVault
internal import Foundation

/// `--paste`: the person opens the address wherever there is a browser, and copies the one that it ends at.
struct PastedRedirect: UserAgent {
    let terminal: any Terminal
    let isQuiet: Bool
    let status: StatusChannel
    /// Ends when the address to open was printed: only then it makes sense to ask.
    private let printed: AsyncStream<Never>
    private let finish: AsyncStream<Never>.Continuation

    init(terminal: any Terminal, isQuiet: Bool, status: StatusChannel) {
        self.terminal = terminal
        self.isQuiet = isQuiet
        self.status = status
        (printed, finish) = AsyncStream.makeStream()
    }

    func open(_ url: String) async throws {
        status.tell(.authorization(url: url))
        if !isQuiet { Output.note("Open this address in any browser, also on another machine:") }
        Output.note(url)
        if !isQuiet {
            Output.note(
                "After signing in, the browser ends at a page that it cannot show. Copy that page's address all the same."
            )
        }
        finish.finish()
    }

    /// Asks for the address that the browser ended at; without a terminal, a line of standard input is it.
    ///
    /// - Parameter objection: what was wrong with the last one.
    func address(_ objection: VaultError?) async throws -> String {
        for await _ in printed {}
        guard terminal.asksForText else {
            if let objection { throw objection.underlying ?? objection }
            let line = try await OneAnswer<String>().wait {
                (readLine() ?? "").trimmingCharacters(in: .whitespaces)
            }
            if let fault = Self.fault(in: line) { throw VaultError(.configurationInvalid, fault) }
            return line
        }
        if let objection { Output.note("\(objection.description) Copy the address that this sign-in ended at.") }
        while true {
            let line = try await terminal.ask("Address: ").trimmingCharacters(in: .whitespaces)
            guard let fault = Self.fault(in: line) else { return line }
            Output.note(fault)
        }
    }

    /// What is wrong with an address before anything is done with it; nil when nothing is.
    private static func fault(in line: String) -> String? {
        let whole = "Copy all of what stands in the browser's address bar after signing in"
        guard !line.isEmpty else { return "That is no address. \(whole)." }
        let question = line.firstIndex(of: "?") ?? line.endIndex
        let names = line[question...].dropFirst().prefix { $0 != "#" }.split(separator: "&").map {
            String($0.prefix { $0 != "=" })
        }
        if names.contains("state"), names.contains("code") || names.contains("error") { return nil }
        if names.contains("client_id") || names.contains("redirect_uri") {
            return "That is the address to open. \(whole): it has \"code=\" and \"state=\" in it."
        }
        return "That is not the whole address, or not the right one. \(whole): it has \"code=\" and \"state=\" in it."
    }
}
