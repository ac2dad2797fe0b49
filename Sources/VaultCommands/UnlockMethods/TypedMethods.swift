internal import CredentialVault

// The unlock methods whose secret a person types.
extension MethodKind {
    /// Every account with a key service begins with a password. `vault passwd` changes it.
    static let password = MethodKind(
        kind: .password, option: "password", help: "Open the account with the password, and try nothing else.",
        secretName: "Password")

    static let pin = MethodKind(
        kind: .pin, option: "pin", help: "Open the account with the PIN. --password-file then has the PIN.",
        secretName: "PIN",
        addition: Addition(options: [.newPINFile], prepare: requireSource) { request, opened in
            let pin = try await newPIN(request)
            try await Spinner.during("Adding the PIN", isQuiet: request.options.global.json) {
                _ = try await opened.accounts.addPIN(pin.bytes, to: request.account, vaultKey: opened.vaultKey)
            }
            let password = request.account.passwordKeyslot == nil ? "" : " or the password"
            return Added(text: "PIN added. Log in to \(request.name) with the PIN\(password).")
        })

    /// Checks that there is a source for the new PIN, before the person types the password.
    @Sendable private static func requireSource(_ request: AddRequest) async throws {
        guard request.options.newPINFile == nil, !request.terminal.isInteractive else { return }
        throw VaultError(
            .configurationInvalid, "There is no terminal to ask for the new PIN. Use --new-pin-file PATH.")
    }

    private static func newPIN(_ request: AddRequest) async throws -> SharedSecret {
        let (account, policy) = (request.account, request.vault.storage.policy)
        let names = account.names
        guard let file = request.options.newPINFile else {
            return SharedSecret(try await request.terminal.newPIN("New PIN", names: names, policy: policy))
        }
        let pin = try await SecretSource.file(file).password("", request.terminal)
        if let failure = policy.failure(ofNewPIN: pin, names: names) { throw failure }
        return SharedSecret(pin)
    }

    static let recovery = MethodKind(
        kind: .recovery, option: "recovery-code",
        help: "Open the account with the recovery code (login, passwd and unlock add only). vault prints a new code.",
        secretName: "Recovery code",
        addition: Addition { request, opened in
            let code = try await NewRecoveryCode.made(
                for: request.account, vaultKey: opened.vaultKey, in: request.vault,
                isQuiet: request.options.global.json
            ).get()
            return Added(
                code: code, hint: "If you forget the password: \(Proposed.command("passwd --recovery-code"))")
        },
        requiresOption: true)

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
                let password = try await offlinePassword(request, typed: opened.password)
                try await Spinner.during(
                    "Adding the offline unlock method", isQuiet: request.options.global.json
                ) {
                    _ = try await opened.accounts.addOffline(
                        password: password, to: request.account, vaultKey: opened.vaultKey)
                }
                return Added(
                    text:
                        "The password now opens \(request.name) without the network: \(Proposed.command("login --offline"))"
                )
            }),
        requiresOption: true)

    /// The account's password. An account without a key service gets a new one.
    private static func offlinePassword(
        _ request: AddRequest, typed: SharedSecret?
    ) async throws -> SharedSecret {
        // If the password opened the account, the person has typed it already.
        if let typed { return typed }
        guard !request.account.hasKeyService else {
            return SharedSecret(try await request.terminal.askSecret("Password of \(request.name): "))
        }
        return SharedSecret(
            try await SecretSource.terminal.newPassword(
                "New password", names: request.account.names, policy: request.vault.storage.policy, request.terminal))
    }
}
