package import Logging

// No log level shows a password, PIN, code, key, token, or the id of a key.
extension Logger {
    /// Drops everything.
    package static var silent: Logger { Logger(label: "credential-vault") { _ in SwiftLogNoOpLogHandler() } }

    /// Returns the code of an error for the log. The error's text may quote a server, so it is not logged.
    package static func code(of error: any Error) -> Logger.MetadataValue {
        .string((VaultError.converting(error) as? VaultError)?.code.name ?? "\(type(of: error))")
    }
}

extension AccountID {
    /// The account that a log line is about.
    package var logMetadata: Logger.Metadata { ["account": .string(subject)] }
}

extension Credential {
    /// The kind of the credential, for the log.
    package var logName: String { isAccessToken == true ? "API token" : "refresh token" }
}

extension SignInResult {
    package var logMetadata: Logger.Metadata {
        account.logMetadata.merging([
            "method": .string(method.rawValue), "token": .string(credential.logName),
            "bound": "\(credential.proofKey != nil)",
        ]) { $1 }
    }
}
