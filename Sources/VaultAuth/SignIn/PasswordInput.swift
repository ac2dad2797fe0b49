internal import Foundation
package import VaultCrypto
internal import VaultStorage

/// What a person typed as user name and password for a backend, looked at before anything is sent.
package enum PasswordInput {
    /// - Throws: ``VaultError`` with code `passwordUnusable`.
    package static func check(username: String) throws {
        guard !username.isEmpty else { throw unusable("The user name is empty.") }
        guard username.contains(where: { !$0.isWhitespace }) else {
            throw unusable("The user name is nothing but blanks.")
        }
    }

    private static func unusable(_ text: String) -> VaultError { VaultError(.passwordUnusable, text) }

    /// - Parameter minimumLength: the least number of characters that the backend's passwords have.
    /// - Returns: the password as text, which the backend's JSON or form needs.
    /// - Throws: ``VaultError`` with code `passwordUnusable`.
    package static func checked(username: String, password: borrowing SecretBytes, minimumLength: Int) throws -> String
    {
        try check(username: username)
        guard let text = password.utf8String() else { throw unusable("The password is not valid UTF-8.") }
        guard !text.isEmpty else { throw unusable("The password is empty.") }
        guard text.contains(where: { !$0.isWhitespace }) else { throw unusable("The password is nothing but blanks.") }
        guard text.count >= minimumLength else {
            throw unusable("The password is too short: it has at least \(minimumLength) characters.")
        }
        return text
    }
}
