internal import CredentialVault
internal import VaultBase

/// What still works at the servers after a command removed tokens from this machine, and where the person can end it.
enum RemainingAccess {
    /// Tells the person what a login that the provider did not revoke can still do.
    static func tell(of account: Account) {
        Output.note(
            """
            vault: the login stays valid at the identity provider until it ends there. \
            To end it, use the account pages of \(pages(of: account))
            """
        )
        tellOfAccessToken(of: account)
    }

    /// Tells the person what may go on after the provider revoked the refresh token of this machine. Some providers
    /// also end the logins of other machines, but do not say so.
    static func tellOfOtherLogins(of account: Account) {
        tellOfAccessToken(of: account)
        let devices =
            account.keyslots.contains { $0.isOPRF } ? "\"vault devices\" on a machine that is logged in, or " : ""
        Output.note(
            """
            vault: other machines may still be logged in. To end their logins, use \(devices)the account pages of \
            \(pages(of: account))
            """
        )
    }

    /// Tells the person until when a program can use the access token that it has. Most providers cannot end the token.
    ///
    /// - Parameter account: as it was stored before the access token was removed.
    static func tellOfAccessToken(of account: Account) {
        guard let end = Grant(of: account).accessTokenExpiresAt, end > SystemWallClock().now else { return }
        Output.note("vault: a program that has the access token may use it until \(end.localText).")
    }

    /// Where the person sees and ends logins: the address, and the name that the provider may show.
    static func pages(of account: Account) -> String {
        let client = account.clientID.isEmpty ? "" : " (client \(Printable.text(account.clientID)))"
        return Printable.text(account.id.issuer) + client
    }
}

extension VaultError {
    /// What happened, without the advice after it. The advice is often about an account that is gone.
    var fact: String {
        guard let end = description.firstRange(of: ". ") else { return description }
        return description[..<end.lowerBound] + "."
    }
}
