internal import CredentialVault
internal import Foundation

/// An account as JSON.
struct AccountReport: Encodable {
    let subject: String
    let issuer: String
    let alias: String?
    let email: String?
    let preferredUsername: String?
    /// How the account signs in.
    let method: String
    let clientId: String
    /// True if the connection to the server is not encrypted; nil for all others.
    let insecureHttp: Bool?
    /// Nil if the account has no key service.
    let keyService: String?
    /// `DPoP` for tokens that are bound to a key, usually `Bearer` for others; nil if it is not known.
    let tokenType: String?
    /// The kinds of the unlock methods.
    var unlockMethods: [String]
    /// Claims that the setting display-claims chose; nil for none.
    let displayClaims: [String: String]?
    let registeredAt: Date
    /// When the provider refused the stored token for good; nil if it did not.
    let refusedAt: Date?
    /// The recovery code, if this command made one.
    var recoveryCode: String?
    /// The alias that this command replaced; nil for none.
    var formerAlias: String?
    /// The setting that named the account by its old alias, and has the new name now; nil for none.
    var changedSetting: String?

    init(_ account: Account) {
        subject = account.id.subject
        issuer = account.id.issuer
        alias = account.alias
        email = account.email
        preferredUsername = account.preferredUsername
        method = account.method.rawValue
        clientId = account.clientID
        insecureHttp = account.id.usesInsecureHTTP ? true : nil
        keyService = account.hasKeyService ? account.keyServiceURL : nil
        tokenType = account.hasBoundTokens ? "DPoP" : account.accessTokenType
        unlockMethods = account.keyslots.map(\.kind.rawValue)
        displayClaims = account.displayClaims.isEmpty ? nil : account.displayClaims
        registeredAt = account.createdAt
        refusedAt = account.refusedAt
    }
}

/// Text from a provider, made safe for a terminal: no character moves the cursor or turns the text direction.
enum Printable {
    static func text(_ text: String) -> String {
        guard !isPlain(text) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isHarmless($0) ? $0 : "?" }))
    }

    /// Like ``text(_:)``, but keeps line feeds and tabs.
    static func lines(_ text: String) -> String {
        guard !isPlain(text) else { return text }
        return String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0 == "\n" || $0 == "\t" || isHarmless($0) ? $0 : "?" }))
    }

    /// Whether the text has only letters, digits, signs and spaces of ASCII, as most texts have. They are all harmless.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { UInt8(ascii: " ")...UInt8(ascii: "~") ~= $0 }
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

enum ShellQuoting {
    /// The word, in quotes if a shell would change it without them.
    static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                    || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "@._-+:/".utf8.contains(byte)
            }
        return isPlain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
