extension Session {
    /// Stores a short text with the account that can be read while the account is closed, such as the ward of a person
    /// or the colour of a picture: see `Account.unsealedMetadata`.
    ///
    /// The text is on the disk **in the clear**. A thief of the disk can read it, and somebody who can write the disk
    /// can change it unnoticed. So store nothing secret there, and decide nothing by it: use ``items`` for that. All apps
    /// on the same store share the keys, so begin a key with the name of your app. A new registration of the account
    /// keeps the metadata, and a backup contains it.
    ///
    /// - Parameters:
    ///   - value: the text; nil to remove the key.
    ///   - key: 1 to 255 bytes without control characters. All keys and values of the account together may have 4096
    ///     bytes.
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was locked (log in again), `configurationInvalid`
    ///   (choose another key), `itemTooLarge` (store it as an item), `accountNotFound` (register), `busy` (try again),
    ///   or `storeUnreadable` (free disk space). Then nothing was changed.
    public func setUnsealedMetadata(_ value: String?, for key: String) async throws {
        try requireOpen()
        try await backend.setUnsealedMetadata(value, for: key)
    }
}
