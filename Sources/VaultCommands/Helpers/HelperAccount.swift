internal import ArgumentParser
internal import CredentialVault
internal import Foundation

/// The account of a helper. Standard input belongs to the program that runs the helper, so nothing is asked there.
struct HelperAccount: ParsableArguments {
    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard unlock.password.file != "-" else {
            throw ValidationError("Standard input has the request. Use --password-file PATH with a file.")
        }
    }

    /// A valid access token for a program that makes no proofs.
    ///
    /// - Parameter mayAsk: whether the terminal may be used to ask for the password.
    /// - Throws: also `VaultError` with code `configurationInvalid` if the tokens are bound to a key.
    func token(for program: HelperCommand.Tool, mayAsk: Bool = true) async throws -> AccessToken {
        let vault = try await unlock.openVault(global)
        let account = try await user.account(in: vault)
        // Before anybody is asked for a password.
        guard !account.hasBoundTokens else { throw BoundToken.refusal(account, for: program) }
        let token = try await token(of: account, in: vault, mayAsk: mayAsk)
        guard !token.isBound else { throw BoundToken.refusal(account, for: program) }
        return token
    }

    /// The header fields of a request with a valid access token.
    ///
    /// - Parameter request: nil if the address of the request is not known.
    /// - Throws: also `VaultError` with code `configurationInvalid` if the tokens are bound to a key, and the address is
    ///   not known.
    func fields(of request: ProvenRequest?) async throws -> [String] {
        let vault = try await unlock.openVault(global)
        let account = try await user.account(in: vault)
        guard request != nil || !account.hasBoundTokens else { throw BoundToken.withoutAddress(account) }
        let token = try await token(of: account, in: vault, mayAsk: true)
        if let request { return try await request.fields(of: token, nonce: nil, vault.auth).lines }
        guard !token.isBound else { throw BoundToken.withoutAddress(account) }
        return ["Authorization: Bearer \(try token.text)"]
    }

    private func token(of account: Account, in vault: Vault, mayAsk: Bool) async throws -> AccessToken {
        let given = user.id.map(ShellQuoting.userOption)
        let name =
            if let given { given } else { await vault.storage.userOption(of: account.id) }
        Asking.restrict(toDisplay: !mayAsk, advice: "To log in: vault login \(name)")
        let session = try await unlock.session(
            of: account, in: vault, isReusable: true, needsToken: true, global)
        return try await Spinner.during("Getting a token", isQuiet: global.json) {
            try await session.retryingAccessToken(forceRefresh: false)
        }
    }
}

enum HelperDefaults {
    /// The user name that most servers expect, or ignore, if the password is a token.
    static let username = "oauth2"
}

/// The standard input of a helper.
enum HelperInput {
    /// The longest request that is read, in bytes.
    private static let limit = 1 << 20

    /// Reads the whole input.
    ///
    /// - Throws: `VaultError` with code `configurationInvalid` if the input is too long or cannot be read.
    static func all() throws -> [UInt8] {
        var input: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while input.count <= limit {
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw VaultError(.configurationInvalid, "The request cannot be read.") }
            guard count > 0 else { return input }
            input += buffer[..<count]
        }
        throw VaultError(.configurationInvalid, "The request is longer than \(limit) bytes.")
    }
}
