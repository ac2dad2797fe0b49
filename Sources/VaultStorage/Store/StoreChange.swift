public import Foundation

/// One step of a change to an account.
///
/// New cases may be added, so a store's `switch` over them needs a `default`. For a change that it does not know, a
/// store throws ``StoreError`` with code `newerVersion`, and applies none of the changes of that call. It must not
/// leave the change out: a token or an unlock method could be lost without a sign.
@nonexhaustive
public enum StoreChange: Sendable {
    /// Adds the account, or replaces it. It keeps the keyslots, the items, the refresh mark, and the data that
    /// ``noteOnline(_:)``, ``noteTokens(scope:type:accessTokenExpiresAt:)``, ``noteRefusal(_:)`` and
    /// ``putDisplayClaims(_:)`` wrote. A new alias must not be a name of another account.
    case putAccount(Account)
    /// Removes the account with all its data. Also removes the records whose names begin with its
    /// ``AccountID/recordPrefix``.
    case removeAccount
    /// Adds a keyslot.
    case putKeyslot(Keyslot)
    /// Adds a keyslot that is not active yet. It replaces an earlier staged one.
    case stageKeyslot(Keyslot)
    /// Makes the staged keyslot active.
    case activateKeyslot(id: String)
    /// Removes a keyslot, staged or not.
    case removeKeyslot(id: String)
    /// Gives a keyslot another label, if the keyslot still exists.
    case renameKeyslot(id: String, label: String?)
    /// Notes that a keyslot opened the account, if the keyslot still exists. A power cut may lose this change if it is
    /// the only one: it is only for a person to read.
    case noteUse(ofKeyslot: String, Date)
    /// Changes the ``Account/unsealedMetadata``; it is given empty if it is damaged. ``putAccount(_:)`` keeps it.
    case changeUnsealedMetadata(@Sendable (inout [String: String]) throws -> Void)
    /// Notes the time when the provider confirmed the account.
    case noteOnline(Date)
    /// Notes the granted scopes, and the `token_type` and the end of the access token. The same change stores that
    /// token.
    case noteTokens(scope: String?, type: String?, accessTokenExpiresAt: Date?)
    /// Notes the time when the provider refused the refresh token for good. A later change that writes or removes the
    /// refresh token also removes this time.
    case noteRefusal(Date)
    /// Replaces the claims that the list of accounts shows.
    case putDisplayClaims([String: String])
    /// Writes an item's sealed bytes. Replaces the old ones. Writing the refresh token also removes the time of
    /// ``noteRefusal(_:)``.
    case putItem(ItemName, [UInt8])
    /// Writes an item that is sealed in chunks. Replaces the old item. Then ``SecureStore/item(_:of:)`` returns `head`,
    /// and ``SecureStore/chunk(_:ofItem:head:of:)`` returns the chunks.
    case putChunks(ItemName, head: [UInt8], SealedChunks)
    /// Seals every item again: replaces its sealed bytes by those that the closure returns for its name and its bytes.
    /// For an item in chunks these are the head, and its chunks stay.
    case resealItems(@Sendable (ItemName, [UInt8]) throws -> [UInt8])
    /// Removes an item if it exists. Removing the access token also removes the date of its end. Removing the refresh
    /// token also removes the time of ``noteRefusal(_:)``.
    case removeItem(ItemName)
    /// Notes that a refresh begins. The conformer also reserves room for the result, as far as it can.
    case beginRefresh(Date)
    /// Notes that a refresh ended.
    case endRefresh
    /// Changes a record as ``SecureStore/withRecord(_:_:)`` does, in the same transaction. The account need not exist.
    ///
    /// With `mayBeLost`, a power cut may lose the change, so nobody waits for the disk. The next durable change of the
    /// store also makes it durable.
    case changeRecord(String, mayBeLost: Bool = false, @Sendable (inout [UInt8]?) throws -> Void)

    /// Whether a power cut may lose the change.
    public var mayBeLost: Bool {
        switch self {
        case .noteUse: true
        case .changeRecord(_, let mayBeLost, _): mayBeLost
        default: false
        }
    }

    /// Refuses an app's change to an item whose name begins with `vault/`. A conformer calls this for each change.
    ///
    /// - Throws: ``StoreError`` with code `reservedName`.
    public func requireWritable() throws {
        switch self {
        case .putItem(let name, _), .putChunks(let name, _, _), .removeItem(let name): try name.requireWritable()
        default: break
        }
    }

    /// Whether the change deletes something, or writes so much that the log would grow large.
    package var removes: Bool {
        switch self {
        case .removeAccount, .removeKeyslot, .removeItem, .putChunks, .resealItems: true
        default: false
        }
    }
}
