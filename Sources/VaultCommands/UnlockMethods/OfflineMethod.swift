internal import CredentialVault

extension MethodKind {
    static let offline = MethodKind(
        kind: .offline, option: "offline",
        help: "Open the account with the password, without the network, if that was allowed.",
        secretName: "Password",
        addition: Addition(
            prepare: { request in
                guard !request.options.yes else { return }
                try await OfflineConsent.ask(request.terminal, mayAsk: !request.options.unlock.password.isGiven)
            },
            add: { request, opened in
                // If the password opened the account, the person has typed it already.
                let password =
                    if let typed = opened.password { typed } else {
                        SharedSecret(try await request.terminal.askSecret("Password of \(request.name): "))
                    }
                try await Spinner.during(
                    "Adding the unlock method without the network", isQuiet: request.options.global.json
                ) {
                    _ = try await request.accounts.addOffline(
                        password: password, to: request.account, vaultKey: opened.vaultKey)
                }
                return Added(text: "The password now opens \(request.name) without the network: vault login --offline")
            }),
        isOnlyOnRequest: true)
}
