internal import Foundation
internal import HTTPTypes
internal import KeyServiceAPI
internal import VaultHTTP

// The refusals of protocol version 2.
extension KeyServiceEndpoint {
    /// Returns the error for an answer that is no success.
    ///
    /// - Parameter isOfOwner: whether an access token proved who asks: then the call is about a list of devices.
    func refusal(_ answer: HTTPAnswer, ofOwner isOfOwner: Bool = false) -> KeyServiceError {
        let problem: OPRFProblem? = answer.decoded()
        let code = problem.flatMap { $0.status == answer.status.code ? OPRFProblem.Code(rawValue: $0.code) : nil }
        switch (answer.status.code, code) {
        case (401, .invalidToken): return invalidToken
        case (401, .invalidProof):
            return KeyServiceError(
                .invalidProof,
                "The key service at \(authority) does not accept the proof for the access token (DPoP).")
        case (401, .unauthorized):
            return KeyServiceError(.noSuchKey, "The key service does not know this key.")
        case (401, .clock):
            return KeyServiceError(
                .clock, "The clock of this machine and the clock of the key service differ by more than 5 minutes.",
                serviceTime: problem?.time.map { Date(timeIntervalSince1970: TimeInterval($0)) })
        case (401, .signInAgain):
            return KeyServiceError(
                .signInTooOld,
                "The key service at \(authority) needs an access token with a sign-in of the last 5 minutes (auth_time)."
            )
        case (403, .unlockedToday):
            return KeyServiceError(.unlockedToday, "The key was unlocked by a sign-in in the last 24 hours.")
        case (403, .locked) where isOfOwner:
            return KeyServiceError(
                .keyLocked,
                "The key has had too many guesses in all. Only the operator of the key service can unlock it.")
        case (403, .locked): return KeyServiceError(.keyLocked, "The key is locked after too many wrong guesses.")
        case (404, .noSuchDevice): return KeyServiceError(.noSuchDevice, "The list has no such key.")
        case (404, .noSuchPath) where isOfOwner:
            return KeyServiceError(.noDeviceLists, "The key service at \(authority) keeps no lists of devices.")
        case (404, .noSuchPath), (404, nil): return nothingHere
        case (409, .unfinished): return KeyServiceError(.unfinished, "The key is not finished: it has no confirmation.")
        case (409, .conflict) where isOfOwner:
            return KeyServiceError(.ownedByAnother, "The key is on the list of another person.")
        case (410, .revoked): return KeyServiceError(.keyRevoked, "This device was revoked.")
        case (410, .destroyed):
            return KeyServiceError(.keyDestroyed, "The key service destroyed the key, because it was locked too long.")
        case (410, .ended): return KeyServiceError(.keyEnded, "The key was ended.")
        case (429, _), (503, _): return busy
        case (500, _), (502, _), (504, _):
            // The service may have carried out the request, so the same call again is right.
            return KeyServiceError(
                .unavailable, "The key service at \(authority) failed (status \(answer.status.code)).",
                underlying: HTTPError(.interrupted, authority: authority))
        default:
            return KeyServiceError(
                .invalidAnswer, "The key service at \(authority) refused the request (status \(answer.status.code)).")
        }
    }

    var busy: KeyServiceError { KeyServiceError(.busy, "The key service at \(authority) is busy.") }

    var breaksProtocol: KeyServiceError {
        KeyServiceError(.invalidAnswer, "The answer of the key service at \(authority) breaks its protocol.")
    }

    var invalidToken: KeyServiceError {
        KeyServiceError(.invalidToken, "The key service at \(authority) does not accept this account's access token.")
    }
}
