package import VaultCrypto

/// The rule of a ``VaultPolicy`` that forbids something, as a value. An app can say it in its own language: see
/// ``rule`` and the numbers. If your app's own policy is not the reason, ask the machine's administrator.
public struct PolicyObjection: Sendable, Hashable, CustomStringConvertible {
    /// A rule of a policy. New rules may be added, so a `switch` over them needs a `default`: show
    /// ``PolicyObjection/description``.
    public struct Rule: Hashable, Sendable {
        /// The rule's name in the file of the machine's policy, stable across versions.
        public let name: String

        /// ``VaultPolicy/minimumPINLength``, in characters.
        public static let minimumPINLength = Rule(name: "minimum-pin-length")
        /// ``VaultPolicy/minimumPasswordLength``, in characters.
        public static let minimumPasswordLength = Rule(name: "minimum-password-length")
        /// ``VaultPolicy/maximumOfflineDays``.
        public static let maximumOfflineDays = Rule(name: "maximum-offline-days")
        /// ``VaultPolicy/allowedUnlockMethods``.
        public static let allowedUnlockMethods = Rule(name: "allowed-unlock-methods")
        /// ``VaultPolicy/forbiddenUnlockMethods``.
        public static let forbiddenUnlockMethods = Rule(name: "forbidden-unlock-methods")
        /// ``VaultPolicy/allowedIssuers``.
        public static let allowedIssuers = Rule(name: "allowed-issuers")
        /// ``VaultPolicy/allowedKeyServices``.
        public static let allowedKeyServices = Rule(name: "allowed-key-services")
        /// ``VaultPolicy/keyServiceProtocol``.
        public static let keyServiceProtocol = Rule(name: "key-service-protocol")
        /// ``VaultPolicy/requiresKeyService``.
        public static let requireKeyService = Rule(name: "require-key-service")
        /// ``VaultPolicy/revocationCheckHours``, which an account without a key service cannot keep.
        public static let revocationCheckHours = Rule(name: "revocation-check-hours")

        /// A rule that this version perhaps does not know, from another program.
        package init(name: String) { self.name = name }
    }

    /// The rule that forbids it.
    public let rule: Rule
    /// The number that the rule requires or allows: characters, days or a version. Nil for a rule with a list.
    public let number: Int?
    /// What the rule allows, sorted: kinds of unlock methods or URLs. Empty for none, for a rule that forbids, and for
    /// a rule with a number.
    public let allowed: [String]
    /// What the rule forbids: the kind of an unlock method, a URL or a version. Nil for a new secret and for days.
    public let refused: String?
    /// One or two sentences for a person.
    public let description: String

    package init(
        _ rule: Rule, number: Int? = nil, allowed: [String] = [], refused: String? = nil, _ description: String
    ) {
        self.rule = rule
        self.number = number
        self.allowed = allowed
        self.refused = refused
        self.description = description
    }

    /// The rule that a new secret is too short for; nil if the objection is another one.
    package init?(_ objection: SecretObjection) {
        guard objection.code == .tooShort else { return nil }
        self.init(
            objection.secret == .pin ? .minimumPINLength : .minimumPasswordLength, number: objection.least,
            objection.description)
    }
}
