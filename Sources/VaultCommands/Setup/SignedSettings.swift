internal import CredentialVault
internal import Foundation
internal import VaultBase

/// The settings of an organisation: a JSON object as in the configuration file, signed with minisign.
struct SignedSettings {
    /// The settings, with the key that signed them.
    let values: [Settings.Name: String]
    /// The key that signed the file. Whether it is the organisation's key, only a person can say.
    let key: MinisignKey
    /// What the signer wrote beside the signature.
    let comment: String
    /// When the file was signed; nil if the signature does not say so.
    let signedAt: Date?

    /// The settings that such a file may have: those about servers that are the same for everybody. A file from
    /// elsewhere names no program or file of this machine, and makes nothing less safe.
    static let allowed: Set<Settings.Name> = [
        .issuer, .clientID, .keyService, .keyServiceKeys, .keyServiceAudience, .scopes, .redirectURI, .prompt,
        .acrValues, .audience, .uiLocales, .parameters, .method, .privateBrowser, .devices, .settingsKey,
    ]

    /// Checks the signature, and then reads the file.
    ///
    /// - Parameters:
    ///   - content: the content of the file.
    ///   - signature: the content of the file with the signature.
    ///   - place: the path or URL, for an error.
    ///   - given: the key that the person named; nil to take the key that the file names.
    ///   - last: the key that signed the settings in use; nil for none. It counts if the file names no key.
    ///   - lastSigned: when that key signed them; nil if nobody knows.
    /// - Throws: `VaultError` with code `configurationInvalid`, which says what is wrong with the file.
    init(
        _ content: [UInt8], signature: [UInt8], from place: String, given: MinisignKey? = nil, last: MinisignKey? = nil,
        lastSigned: Date? = nil
    ) throws {
        func unusable(_ reason: String) -> VaultError {
            VaultError(.configurationInvalid, "The settings file \(Printable.text(place)) cannot be used. \(reason)")
        }
        guard let signature = MinisignSignature(signature) else {
            throw unusable("The signature beside it (.minisig) is not as minisign -S writes it.")
        }
        let named = JSONValue(strictObjectIn: content)?[Settings.Name.settingsKey.rawValue]?.string
        let own = named.flatMap { MinisignKey($0) }
        guard let key = given ?? own ?? last else {
            throw unusable("It does not name the key that signs it. To name the key: --key KEY")
        }
        guard signature.isValid(of: content, by: key) else {
            guard signature.names(key) else { throw unusable("Another key than \(key.text) signed it.") }
            throw unusable("Somebody changed it after it was signed.")
        }
        let signedAt = signature.signedAt.map { Date(timeIntervalSince1970: TimeInterval($0)) }
        // Otherwise an older file could bring back a server that the organisation no longer uses.
        if key == last, let lastSigned {
            guard let signedAt else {
                throw unusable(
                    "Its signature does not say when it was made, so it may be older than the settings that you use now. Ask your organisation to sign it without a comment of its own."
                )
            }
            guard signedAt >= lastSigned else {
                throw unusable(
                    "It was signed at \(signedAt.localText), and the settings that you use now at \(lastSigned.localText). Ask your organisation for the newest file."
                )
            }
        }
        var values = try Settings.values(json: content, unusable: unusable)
        guard named == nil || own == key else {
            throw unusable("Its settings-key is another key than the one that signed it.")
        }
        for name in Settings.Name.allCases {
            guard let value = values[name] else { continue }
            // With any, the key service would get the token of the login.
            guard Self.allowed.contains(name), name != .keyServiceAudience || value != "any" else {
                throw unusable(
                    "It may not set \(name.rawValue) to \(value). To set it yourself: vault config set \(name.rawValue) VALUE"
                )
            }
            try name.validate(value)
        }
        for name in [Settings.Name.issuer, .keyService] where values[name] == nil {
            throw unusable("It has no \(name.rawValue).")
        }
        values[.settingsKey] = key.text
        values[.settingsSignedAt] = signedAt?.formatted(Date.ISO8601FormatStyle())
        (self.values, self.key, comment, self.signedAt) = (values, key, signature.trustedComment, signedAt)
    }
}
