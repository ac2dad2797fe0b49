internal import HTTPTypes
internal import KeyServiceAPI
internal import VaultCrypto
internal import VaultHTTP

// The protocol cannot delete a key, so wrong guesses lock it.
extension HTTPKeyService {
    /// The most guesses for one call of ``endKey(id:)``. A service that allows more needs several calls.
    static let maxEndingGuesses = 128

    /// Ends a key. The protocol has no call for that, so this function sends random wrong secrets until the key is
    /// locked or unknown: at most 128 in one call.
    ///
    /// - Parameter id: the id of the key at the service.
    /// - Throws: ``KeyServiceError``: `unavailable`: call it again later. `invalidAnswer`: it is not certain that the
    ///   key is ended; call it again later. `invalidURL`, `configurationInvalid`: correct the setting that the text
    ///   names. `CancellationError` when the task is cancelled: call it again later.
    public func endKey(id: String) async throws {
        var remaining = Int.max
        for _ in 1...Self.maxEndingGuesses {
            try Task.checkCancellation()
            let guess = try Self.text(AuthSecret.random())
            let answer = try await post(KeyServicePath.key, KeyRequest(keyid: id, secret: guess))
            switch answer.status.code {
            case 401:
                guard let told = answer.problem?.guessesRemaining else { continue }
                // A right guess in between sets the count back. The next call begins again.
                guard told < remaining else { throw uncertain("it does not count wrong guesses") }
                remaining = told
            case 204, 403, 404:
                guard try await isAboutKey(answer) else { throw uncertain("a proxy answered instead") }
                return
            case 200:
                throw uncertain("it accepts any secret")
            default:
                throw refusal(answer)
            }
        }
        throw uncertain("it allows more than \(Self.maxEndingGuesses) wrong guesses")
    }

    /// Whether a 204, 403 or 404 is the key service's answer about a key. A gateway that blocks the request also
    /// answers 403 or 404.
    private func isAboutKey(_ answer: HTTPAnswer) async throws -> Bool {
        if answer.status == .noContent { return true }
        if answer.isPage { return false }
        switch answer.problem?.error {
        case "key_locked": return answer.status == .forbidden
        case "no_such_key": return answer.status == .notFound
        case "no_such_path": return false
        default: break
        }
        // A request without a key and a secret is not a guess. A key service refuses it with another status. A gateway
        // does not look into it.
        let probe = try await post(KeyServicePath.key, KeyRequest(keyid: ""))
        return (400..<500).contains(probe.status.code)
            && ![405, 408, 429, answer.status.code].contains(probe.status.code)
    }

    private func uncertain(_ reason: String) -> KeyServiceError {
        KeyServiceError(
            .invalidAnswer, "It is not certain that the key service at \(authority) ended a key: \(reason).")
    }
}
