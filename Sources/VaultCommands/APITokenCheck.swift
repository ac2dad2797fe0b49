internal import CredentialVault

extension ServiceChecks {
    /// Tells of accounts with an API token whose server has OAuth by now.
    func apiTokens(_ transport: any HTTPTransport) async -> [Check] {
        guard let storage = try? await storage(), let accounts = try? await storage.all() else { return [] }
        var hasOAuth: [String: Bool] = [:]
        var checks: [Check] = []
        for account in accounts where account.method == .serverToken {
            let server = account.id.issuer
            if hasOAuth[server] == nil {
                let information = try? await ServerInformation.read(of: account, transport: transport)
                hasOAuth[server] = information?.hasOAuth == true
            }
            guard hasOAuth[server] == true else { continue }
            let user = await storage.userOption(of: account.id)
            checks.append(
                Check(
                    name: "API token", outcome: .ok,
                    finding: "\(account.displayName) signs in with an API token, and \(server) has OAuth.",
                    advice: "To use OAuth: vault account switch-method \(user)"))
        }
        return checks
    }
}
