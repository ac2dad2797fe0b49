package import VaultCrypto
internal import VaultStorage

/// Checks a typed user name and password for a backend before anything is sent.
package enum PasswordInput {
    /// - Throws: ``VaultError`` with code `passwordUnusable`.
    package static func check(username: String) throws {
        guard !username.isEmpty else { throw unusable("The user name is empty.") }
        guard username.contains(where: { !$0.isWhitespace }) else {
            throw unusable("The user name has only blanks.")
        }
    }

    private static func unusable(_ text: String) -> VaultError { VaultError(.passwordUnusable, text) }

    /// - Parameter minimumLength: the least number of characters of the backend's passwords.
    /// - Returns: the password as text, for the backend's JSON or form.
    /// - Throws: ``VaultError`` with code `passwordUnusable`.
    package static func checked(username: String, password: borrowing SecretBytes, minimumLength: Int) throws -> String
    {
        try check(username: username)
        guard let text = password.utf8String() else { throw VaultError(SecretObjection.notText(.password)) }
        guard !text.isEmpty else { throw VaultError(SecretObjection.empty(.password)) }
        guard text.contains(where: { !$0.isWhitespace }) else {
            throw VaultError(SecretObjection(.blank, of: .password, "The password has only blanks."))
        }
        guard text.count >= minimumLength else {
            throw VaultError(
                SecretObjection(
                    .tooShort, of: .password, least: minimumLength,
                    "The password is too short. It must have at least \(minimumLength) characters."))
        }
        return text
    }
}
