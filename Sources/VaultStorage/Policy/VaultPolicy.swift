public import VaultBiometric
public import VaultCrypto

/// What an app, or whoever runs the machine, allows: how short a new secret may be, how long an account opens without the
/// network, and which ways in there are.
///
/// It binds programs that use this library. Whoever has the disk brings a program of their own.
public struct VaultPolicy: Sendable, Hashable {
    /// The least number of characters of a new PIN. One that is there already still opens its account.
    public var minimumPINLength: Int
    /// The least number of characters of a new password. One that is there already still opens its account.
    public var minimumPasswordLength: Int
    /// For how many days at most an account opens without the network after it was online last. Nil for no limit beside
    /// that of the app.
    public var maximumOfflineDays: Int?
    /// The ways in that may be added, and that open an account; nil for all. Hardware that opens an account without the key
    /// service needs `offline`, too.
    public var allowedWaysIn: Set<Keyslot.Kind>?

    /// What holds where nobody says anything else: PINs of 4 and passwords of 8 characters, and every way in.
    public static let standard = VaultPolicy()

    public init(
        minimumPINLength: Int = PINRule.length.lowerBound, minimumPasswordLength: Int = 8,
        maximumOfflineDays: Int? = nil, allowedWaysIn: Set<Keyslot.Kind>? = nil
    ) {
        self.minimumPINLength = minimumPINLength
        self.minimumPasswordLength = minimumPasswordLength
        self.maximumOfflineDays = maximumOfflineDays
        self.allowedWaysIn = allowedWaysIn
    }

    /// The stricter one of two policies in each point. Only ways in that both allow are allowed.
    public static func stricter(of first: VaultPolicy, _ second: VaultPolicy) -> VaultPolicy {
        let days = [first.maximumOfflineDays, second.maximumOfflineDays].compactMap(\.self).min()
        let ways = [first.allowedWaysIn, second.allowedWaysIn].compactMap(\.self)
        return VaultPolicy(
            minimumPINLength: max(first.minimumPINLength, second.minimumPINLength),
            minimumPasswordLength: max(first.minimumPasswordLength, second.minimumPasswordLength),
            maximumOfflineDays: days,
            allowedWaysIn: ways.dropFirst().reduce(ways.first) { $0?.intersection($1) })
    }

    /// Whether ways in of a kind may be added and used.
    public func allows(_ kind: Keyslot.Kind) -> Bool { allowedWaysIn?.contains(kind) ?? true }

    /// Whether a way in may be used. One that needs no key service needs `offline`, too.
    public func allows(_ slot: Keyslot) -> Bool {
        allows(slot.kind) && (slot.needsKeyService || allows(.offline))
    }

    /// Judges the length of a new PIN. `PINRule` judges how easily it is guessed.
    ///
    /// - Parameter pin: UTF-8.
    /// - Returns: nil when it is long enough, or one sentence that says how long it has to be.
    public func objection(toPIN pin: borrowing SecretBytes) -> String? {
        LengthRule(least: minimumPINLength).isBroken(by: pin)
            ? "The PIN is too short. It needs at least \(minimumPINLength) characters." : nil
    }

    /// Judges the length of a new password.
    ///
    /// - Parameter password: UTF-8.
    /// - Returns: nil when it is long enough, or one sentence that says how long it has to be.
    public func objection(toPassword password: borrowing SecretBytes) -> String? {
        LengthRule(least: minimumPasswordLength).isBroken(by: password)
            ? "The password is too short. It needs at least \(minimumPasswordLength) characters." : nil
    }

    private struct LengthRule: SecretTextRule {
        let least: Int

        /// Bytes that are no text have no length. They are refused elsewhere.
        func isBroken(by secret: borrowing SecretBytes) -> Bool {
            objection(toSecret: secret, invalid: "") == Self.tooShort
        }

        func objection(to text: some BidirectionalCollection<Character>) -> String? {
            text.count < least ? Self.tooShort : nil
        }

        private static let tooShort = "too short"
    }
}
