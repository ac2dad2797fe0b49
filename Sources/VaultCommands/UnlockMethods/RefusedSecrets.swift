internal import CredentialVault

/// The secrets that the key service refused since a question began. They are not sent again: a window may be a program
/// that answers by itself, and would spend one guess after the other on the same secret.
struct RefusedSecrets {
    /// The kind of the secrets, for the text.
    let kind: Keyslot.Kind
    private var refused: [SharedSecret] = []
    private var last: VaultError?
    /// How often in a row an answer was among them. A terminal may be a script, too.
    private var repetitions = 0

    init(of kind: Keyslot.Kind) { self.kind = kind }

    /// The number of different secrets.
    var count: Int { refused.count }

    /// - Parameter error: the error for the person.
    mutating func add(_ secret: SharedSecret?, _ error: VaultError) {
        guard let secret else { return }
        refused.append(secret)
        (last, repetitions) = (error, 0)
    }

    /// Whether a secret was refused before. Then tells the person, who can type another one.
    ///
    /// - Throws: the error of the last refusal, if a window gave the same secret again.
    mutating func contain(_ secret: SharedSecret?, _ terminal: any Terminal) throws -> Bool {
        guard let secret, let last, refused.contains(where: { $0.bytes.isEqual(to: secret.bytes) }) else {
            return false
        }
        repetitions += 1
        guard !terminal.mayAnswerByItself, repetitions < 4 else { throw last }
        terminal.tell("vault: This is the same \(kind.displayName) again, so it was not sent.")
        return true
    }
}
