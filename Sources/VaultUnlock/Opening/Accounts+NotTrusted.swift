internal import KeyServiceClient
internal import VaultStorage

// A keyslot that should get a new key by itself keeps its old one if the key service is not the known one. The person is
// told once, because each login would say it again.
extension Accounts {
    /// Tells the person that a keyslot did not get a new key, if the error says that the key service is not the known
    /// one. Says it once, until a keyslot gets a new key.
    func tellNotTrusted(_ error: any Error, at slot: Keyslot, of account: AccountID) async {
        guard (VaultError.converting(error) as? VaultError)?.code == .keyServiceNotTrusted else { return }
        // If the store cannot be read, the person is rather told twice than never.
        let isTold = try? await store.withRecord(toldNotTrusted(account)) { bytes in
            defer { bytes = [1] }
            return bytes != nil
        }
        if isTold != true { notices.send(.keyServiceNotTrusted(slot.kind, of: account)) }
    }

    /// Tells the person again the next time.
    func forgetNotTrusted(of account: AccountID) async {
        try? await store.withRecord(toldNotTrusted(account)) { $0 = nil }
    }

    private func toldNotTrusted(_ account: AccountID) -> String { account.recordPrefix + "told-not-trusted" }
}
