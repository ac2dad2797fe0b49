internal import CredentialVault

/// Shows the login in the browser, or prints its address.
struct LoginBrowser: UserAgent {
    let opens: Bool
    /// Whether to open a private window.
    let isPrivate: Bool
    let isQuiet: Bool
    let status: StatusChannel
    /// The text before an address that the person has to open.
    var remark = "Open this address in a browser on this machine:"

    func connectionWasRefused(_ connection: RefusedConnection) async {
        guard !isQuiet else { return }
        Output.note(
            "\(connection.description) If it was your browser: stop with Ctrl-C, and use vault register --device, or --paste."
        )
    }

    func open(_ url: String) async throws {
        status.tell(.authorization(url: url))
        guard opens else {
            if !isQuiet { Output.note(remark) }
            Output.note(url)
            return
        }
        if !isQuiet {
            let place = isPrivate ? "the private window, and close it afterwards" : "the browser"
            Output.note("Continue in \(place). (It did not open? Stop with Ctrl-C and use --no-browser.)")
        }
        do {
            try await (isPrivate ? PrivateBrowser() : SystemBrowser() as any UserAgent).open(url)
        } catch let error as VaultError where error.code == .configurationInvalid {
            let window = isPrivate ? " in a private window" : ""
            let elsewhere = isPrivate ? "" : " With a browser on another machine, add --paste."
            throw VaultError(
                error.code,
                "\(error.description)\(elsewhere) To open the address yourself\(window), \(Proposed.again(with: "--no-browser"))"
            )
        }
    }
}
