internal import Foundation
internal import KeyServiceClient
internal import VaultCrypto

/// A question for the key service some time after a login: are the guesses still open that were young at the login? Was
/// the key revoked?
///
/// A young guess may be a parallel login of the same person, which confirms it soon. A thief's guess stays open. The
/// question is a guess with a random element. The same one can be asked again. Its confirmation was signed at the
/// login, while the confirm key was there. Neither is secret: the input of the element is forgotten, so its evaluation
/// tests no secret.
package struct LaterQuestion: Sendable, Codable {
    /// The age in seconds at which a guess of another store is no parallel login any more.
    static let leastAge: TimeInterval = 60

    let element: [UInt8]
    /// Whether young guesses are to be judged.
    var judgesGuesses: Bool
    let confirmation: KeyConfirmation
    /// The time of the login by this machine's clock.
    let askedFrom: Date

    /// Makes a question about a key.
    ///
    /// - Parameters:
    ///   - confirmKey: signs the confirmation of the question's own guess.
    ///   - judgesGuesses: whether young guesses are to be judged.
    init(about key: String, _ confirmKey: borrowing SigningKey, judgesGuesses: Bool, now: Date) throws {
        let blinded = try OPRF.blind(SecretBytes.random(count: OPRFDerivation.stretchedSize)).element
        element = blinded.bytes
        confirmation = confirmKey.confirmation(of: key, tickets: [OPRFDerivation.ticket(key, blinded)])
        askedFrom = now
        self.judgesGuesses = judgesGuesses
    }

    /// Returns the element, if the question's own guess can be confirmed.
    ///
    /// - Parameter check: the public key of the confirmations. Nobody else can make a question: the store is not
    ///   authenticated.
    func element(of key: String, check: [UInt8]) -> RistrettoElement? {
        guard let element = try? RistrettoElement(element), confirmation.id == key,
            confirmation.tickets == [OPRFDerivation.ticket(key, element)], confirmation.isSigned(by: check)
        else { return nil }
        return element
    }
}
