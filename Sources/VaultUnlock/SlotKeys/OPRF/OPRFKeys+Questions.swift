internal import Foundation
internal import KeyServiceClient
internal import VaultBase
internal import VaultCrypto
internal import VaultHTTP
internal import VaultStorage

extension OPRFKeys {
    /// Asks about a key with a guess whose element means nothing. The same element is used again, so all questions
    /// together open one guess at most.
    func provenAnswer(about slot: Keyslot, of account: Account) async -> RevocationAnswer {
        do {
            let key = slot.keyID
            let requestKey = SharedSecret(
                try OPRFDerivation.requestKey(from: SecretBytes(copying: account.deviceSecret), id: key))
            let guesses = guesses(of: account)
            let element: RistrettoElement
            if let question = try await guesses.questions()[key],
                let prepared = question.element(of: key, check: slot.check)
            {
                // The last login signed the confirmation of this guess, so it costs no guess.
                try await guesses.begin(question, at: key)
                element = prepared
            } else if let last = try await guesses.unfinished(at: key).guesses.last,
                let open = try? RistrettoElement(last.element)
            {
                element = open
            } else {
                element = try OPRF.blind(SecretBytes.random(count: OPRFDerivation.stretchedSize)).element
                try await guesses.note(element, at: key)
            }
            let answer = try await client.evaluate(key, element, requestKey: requestKey)
            // Its answer was not lost, so it does not keep the last guess.
            try? await guesses.noteAnswer(to: element, at: key, limit: answer.limit)
            return .live(isProven: true)
        } catch let error as KeyServiceError {
            switch error.code {
            case .keyRevoked: return .revoked
            case .keyLocked, .unfinished: return .live(isProven: true)
            case .keyEnded, .keyDestroyed: return .ended
            case .noSuchKey: return .live(isProven: false)
            default: return .none
            }
        } catch {
            return .none
        }
    }
}
