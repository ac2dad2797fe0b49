internal import CredentialVault
internal import Foundation

/// Access tokens that are bound to a key (DPoP, RFC 9449), in words for a person. Each request with such a token needs a
/// proof.
enum BoundToken {
    private static let otherTokens =
        "For tokens that every program can use: vault register --no-dpop. To get such tokens each time: vault config set dpop off"

    /// Tells a person at a terminal that the command needs proofs.
    static func tell(_ token: AccessToken, isQuiet: Bool) {
        guard token.isBound, !isQuiet, isatty(STDERR_FILENO) == 1 else { return }
        Output.note(
            "vault: this token is bound to a key (DPoP). Only a program that makes proofs can use it. \(otherTokens)")
    }

    /// Tells a person which programs cannot use the tokens of a new account.
    static func tell(_ account: Account) {
        guard account.hasBoundTokens else { return }
        Output.note("The tokens are bound to a key (DPoP). git, docker and kubectl cannot use them. \(otherTokens)")
    }

    /// The error for a program that makes no proofs.
    static func refusal(_ account: Account, for program: HelperCommand.Tool) -> VaultError {
        VaultError(
            .configurationInvalid,
            "\(program.rawValue) cannot use the tokens of \(Printable.text(account.displayName)), because they are bound to a key (DPoP). \(otherTokens)"
        )
    }

    /// The error for a request whose address is not known.
    static func withoutAddress(_ account: Account) -> VaultError {
        VaultError(
            .configurationInvalid,
            "The tokens of \(Printable.text(account.displayName)) are bound to a key (DPoP), so each request needs a proof for its address. Name the address: --url URL"
        )
    }
}
