internal import CredentialVault
internal import Foundation

/// `--paste`: the person opens the address in any browser, and copies the last address of the browser back.
struct PastedRedirect: UserAgent {
    let terminal: any Terminal
    let isQuiet: Bool
    let status: StatusChannel
    /// Ends when the address to open is printed. The question comes only after that.
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
                "After the sign-in, the browser cannot show the last page. Copy the address of that page anyway."
            )
        }
        finish.finish()
    }

    /// Asks for the last address of the browser. Without a terminal, reads a line of standard input.
    ///
    /// - Parameter objection: the fault of the address that was given before.
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
        if let objection { Output.note("\(objection.description) Copy the last address of this sign-in.") }
        while true {
            let line = try await terminal.ask("Address: ").trimmingCharacters(in: .whitespaces)
            guard let fault = Self.fault(in: line) else { return line }
            Output.note(fault)
        }
    }

    /// The fault of an address, found before it is used; nil if there is none.
    private static func fault(in line: String) -> String? {
        let whole = "After the sign-in, copy the whole address from the browser's address bar"
        guard !line.isEmpty else { return "That is not an address. \(whole)." }
        let question = line.firstIndex(of: "?") ?? line.endIndex
        let names = line[question...].dropFirst().prefix { $0 != "#" }.split(separator: "&").map {
            String($0.prefix { $0 != "=" })
        }
        if names.contains("state"), names.contains("code") || names.contains("error") { return nil }
        if names.contains("client_id") || names.contains("redirect_uri") {
            return "That is the address to open. \(whole). It has \"code=\" and \"state=\" in it."
        }
        return "That is not the whole address, or not the right one. \(whole). It has \"code=\" and \"state=\" in it."
    }
}
