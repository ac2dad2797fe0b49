public import Foundation

/// One step of a change to an account.
public enum StoreChange: Sendable {
    /// Adds the account, or replaces everything of it but its keyslots, items, refresh mark and what ``noteOnline(_:)``,
    /// ``noteTokens(scope:accessTokenExpiresAt:)`` and ``putDisplayClaims(_:)`` wrote. An alias that it does not have yet
    /// must be a name of no other account.
    case putAccount(Account)
    /// Removes the account with all it has, and the records whose names begin with its ``AccountID/recordPrefix``.
    case removeAccount
    /// Adds a keyslot.
    case putKeyslot(Keyslot)
    /// Adds a keyslot that does not count yet, in place of one staged earlier.
    case stageKeyslot(Keyslot)
    /// Makes the staged keyslot count.
    case activateKeyslot(id: String)
    /// Removes a keyslot, staged or not.
    case removeKeyslot(id: String)
    /// Gives a keyslot another label, if it is there still.
    case renameKeyslot(id: String, label: String?)
    /// Notes that a keyslot opened the account, if it is there still. Alone, it may be lost when the machine loses its
    /// power: it is only for a person to look at.
    case noteUse(ofKeyslot: String, Date)
    /// Notes that the provider confirmed the account.
    case noteOnline(Date)
    /// Notes the granted scopes, and when the access token ends. That token is stored in the same change.
    case noteTokens(scope: String?, accessTokenExpiresAt: Date?)
    /// Replaces the claims that a list of accounts shows.
    case putDisplayClaims([String: String])
    /// Writes an item's sealed bytes, in place of what it was.
    case putItem(ItemName, [UInt8])
    /// Writes an item that is sealed in chunks, in place of what it was. Its ``SecureStore/item(_:of:)`` is `head` then,
    /// and each chunk is a ``SecureStore/chunk(_:ofItem:head:of:)``.
    case putChunks(ItemName, head: [UInt8], SealedChunks)
    /// Removes an item if it is there. Removing the access token also removes the date when the token ends.
    case removeItem(ItemName)
    /// Notes that a refresh begins. The conformer also makes sure, as far as it can, that the result will find room.
    case beginRefresh(Date)
    /// Notes that a refresh ended.
    case endRefresh
    /// Changes a record as ``SecureStore/withRecord(_:_:)`` does, in one step with the rest. The account need not be there.
    case changeRecord(String, @Sendable (inout [UInt8]?) throws -> Void)

    /// Whether it may be lost when the machine loses its power.
    public var mayBeLost: Bool {
        if case .noteUse = self { true } else { false }
    }

    /// Refuses to change an item of the vault under a name that an app made up. A conformer calls it for each change.
    ///
    /// - Throws: ``StoreError`` with code `reservedName`.
    public func requireWritable() throws {
        switch self {
        case .putItem(let name, _), .putChunks(let name, _, _), .removeItem(let name): try name.requireWritable()
        default: break
        }
    }

    /// Whether something is to be gone afterwards, or a log of what was written would be large.
    package var removes: Bool {
        switch self {
        case .removeAccount, .removeKeyslot, .removeItem, .putChunks: true
        default: false
        }
    }
}
