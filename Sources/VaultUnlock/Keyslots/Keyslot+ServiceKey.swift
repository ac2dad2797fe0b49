internal import KeyServiceClient
internal import VaultCrypto
internal import VaultStorage

extension Keyslot {
    /// The identity key of the key service that made the slot's key, 32 bytes; nil if the service had none.
    ///
    /// It is part of ``protection``, so the slot opens only as long as nobody changed or removed it. A thief who can
    /// write the disk can add a slot with a key of their own. Then no key is made, because the service must continue
    /// the keys of all slots.
    var serviceKey: [UInt8]? {
        guard isOPRF else { return nil }
        let key = kind.hasProvider ? (try? HardwareData(of: self))?.serviceKey.map { Array($0) } : protection
        return key?.count == Signature.publicKeySize ? key : nil
    }
}

extension Accounts {
    /// Returns the identity keys that new keys of an account may come from. The first account at an address accepts
    /// any, unless keys are pinned.
    func trustedIdentities(of account: Account) async throws -> TrustedIdentities {
        // A text that is no key allows nothing.
        let pinned = policy.keyServiceKeys.map { Set($0.compactMap(Signature.publicKey)) }
        // The account may have been read a while ago. Its earlier registration does not count: perhaps the service is
        // a new one, and that is why the person registers again.
        let stored = try await readableAccounts().filter {
            $0.keyServiceURL == account.keyServiceURL
                && ($0.id != account.id || $0.deviceSecret == account.deviceSecret)
        }
        let known = (stored + [account]).flatMap { $0.keyslots.compactMap(\.serviceKey) }
        return TrustedIdentities(known: Set(known), pinned: pinned)
    }

    /// The accounts of the store; none if one of them is damaged. The damage of one person's account must not stop all
    /// others from adding an unlock method. Their own keyslots still name the keys of the service.
    private func readableAccounts() async throws -> [Account] {
        do {
            return try await store.accounts()
        } catch let error as StoreError where error.code == .corrupt {
            return []
        }
    }
}
