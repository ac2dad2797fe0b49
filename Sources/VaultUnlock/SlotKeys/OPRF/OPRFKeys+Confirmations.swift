package import KeyServiceClient
internal import VaultBase
package import VaultStorage

// The confirmations of right guesses. A guess counts as wrong until the key service has its confirmation.
extension OPRFKeys {
    package func sendConfirmations(of account: Account) async {
        let guesses = guesses(of: account)
        guard let waiting = try? await guesses.waiting(), !waiting.isEmpty else { return }
        var client = client
        // What is not answered now is sent at the next login.
        client.repeats = 0
        for confirmation in waiting {
            do {
                try await client.confirm(confirmation)
                FaultPoint.confirmSent.reach()
                try await guesses.noteSent([confirmation])
            } catch let error as KeyServiceError where error.isOfEndedKey {
                // Anybody between here and the service can say so. The next login finds out.
                try? await guesses.noteSent([confirmation])
            } catch let error as KeyServiceError where error.code == .invalidAnswer {
                // Perhaps a gateway answered instead of the service. The confirmation is good later, too.
                continue
            } catch {
                return
            }
        }
    }

    package func confirm(_ confirmation: KeyConfirmation) async throws { try await client.confirm(confirmation) }

    /// Sends all confirmations of a locked key again. Perhaps the guesses that lock it are this store's own ones: a
    /// confirmation was lost, or somebody sent recorded guesses again.
    ///
    /// - Returns: whether a confirmation arrived, and whether one got no answer. Then nobody knows whether the key
    ///   stays locked.
    func closeGuesses(at slot: Keyslot, of account: Account) async -> (isClosed: Bool, isLost: Bool) {
        let guesses = guesses(of: account)
        await sendConfirmations(of: account)
        var isClosed = false
        var isLost = (try? await guesses.waiting())?.contains { $0.id == slot.keyID } ?? false
        for confirmation in (try? await guesses.sent(of: slot.keyID)) ?? [] {
            do {
                try await client.confirm(confirmation)
                isClosed = true
            } catch let error as KeyServiceError where error.isOfEndedKey {
                continue
            } catch {
                isLost = true
            }
        }
        return (isClosed, isLost)
    }
}
