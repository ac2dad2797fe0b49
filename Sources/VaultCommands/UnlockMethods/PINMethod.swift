internal import CredentialVault

extension MethodKind {
    static let pin = MethodKind(
        kind: .pin, option: "pin", help: "Open the account with the PIN. --password-file then has the PIN.",
        secretName: "PIN",
        addition: Addition(options: [.newPINFile], prepare: requireSource) { request, opened in
            let pin = try await newPIN(request)
            try await Spinner.during("Adding the PIN", isQuiet: request.options.global.json) {
                _ = try await request.accounts.addPIN(pin.bytes, to: request.account, vaultKey: opened.vaultKey)
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
        let (account, policy) = (request.account, request.accounts.policy)
        let names = [account.alias, account.email, account.preferredUsername].compactMap(\.self)
        guard let file = request.options.newPINFile else {
            return SharedSecret(try await request.terminal.newPIN("New PIN", names: names, policy: policy))
        }
        let pin = try await SecretSource.file(file).password("", request.terminal)
        if let failure = policy.failure(ofNewPIN: pin, names: names) { throw failure }
        return SharedSecret(pin)
    }
}
