internal import KeyServiceClient
internal import VaultCrypto
internal import VaultStorage

extension VaultKey {
    /// Derives the key pair that ends a key at a key service of protocol version 2.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` when another process holds the vault key.
    func endKey(of keyID: String) throws -> SigningKey {
        guard let bytes else { throw Self.isKeptByAgent }
        return try OPRFDerivation.endKey(bytes.bytes, id: keyID)
    }

    /// Signs the claim that puts a key on the owner's list of devices.
    ///
    /// - Throws: as ``endKey(of:)``.
    func claim(of keyID: String, by id: AccountID) throws -> [UInt8] {
        try endKey(of: keyID).claim(of: keyID, issuer: id.issuer, subject: id.subject)
    }
}
