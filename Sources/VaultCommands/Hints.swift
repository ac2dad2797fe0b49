internal import CredentialVault

/// What a person at a terminal can type after an error. The libraries say what happened, because an app has no commands.
/// The command adds its own: this table has them all.
enum Hints {
    /// The hint for an error; nil if its text says enough.
    static func hint(for error: VaultError) -> String? {
        if let objection = error.policyObjection {
            // A secret that is too short needs no look at the policy, and the days are in the text.
            return namesTheRule(objection) ? nil : "To see the policy: vault doctor"
        }
        return ofCode[error.code]
    }

    /// The hints for codes that mean one thing.
    private static let ofCode: [VaultError.Code: String] = [
        .lastGuess: "If this network works: vault login --last-guess",
        .offlineTooLong: "To allow more days: vault config set offline-max-age DAYS",
    ]

    private static func namesTheRule(_ objection: PolicyObjection) -> Bool {
        [.minimumPINLength, .minimumPasswordLength, .maximumOfflineDays].contains(objection.rule)
    }
}

extension VaultError {
    /// The text for a person at a terminal: what happened, and what to type.
    var text: String { description + (Hints.hint(for: self).map { " " + $0 } ?? "") }
}
