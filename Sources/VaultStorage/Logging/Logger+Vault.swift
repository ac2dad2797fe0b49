package import Logging

// What is logged never holds a password, PIN, code, key or token, nor the id of a key: at no level.
extension Logger {
    /// Drops everything.
    package static var silent: Logger { Logger(label: "credential-vault") { _ in SwiftLogNoOpLogHandler() } }

    /// An error as it may be logged: its code. Its text may quote a server.
    package static func code(of error: any Error) -> Logger.MetadataValue {
        .string((VaultError.converting(error) as? VaultError)?.code.name ?? "\(type(of: error))")
    }
}

extension AccountID {
    /// Whom a line is about.
    package var logMetadata: Logger.Metadata { ["account": .string(subject)] }
}

extension Credential {
    /// What is exchanged for access tokens, in a word.
    package var logName: String { isAccessToken == true ? "API token" : "refresh token" }
}

extension RefreshToken {
    /// How somebody signed in, and what came of it.
    package var logMetadata: Logger.Metadata {
        account.logMetadata.merging([
            "method": .string(method.rawValue), "token": .string(credential.logName),
            "bound": "\(credential.proofKey != nil)",
        ]) { $1 }
    }
}
