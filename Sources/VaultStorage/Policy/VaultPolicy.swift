public import VaultBiometric
public import VaultCrypto

/// What an app, or whoever runs the machine, allows: how short a new secret may be, how long an account opens without the
/// network, which ways in there are, and which servers may be used.
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
    /// After how many minutes without use at most an agent forgets the session that it holds. Nil for no limit beside that
    /// of the agent.
    public var maximumIdleMinutes: Int?
    /// For how many hours at most an agent holds a session. Nil for no limit beside that of the agent.
    public var maximumSessionHours: Int?
    /// The identity providers, backends and servers, by their issuer or base URLs, whose accounts may be registered and
    /// opened; nil for all.
    public var allowedIssuers: Set<String>?
    /// The key services, by their base URLs as they are configured, whose accounts may be registered and opened; nil for
    /// all.
    public var allowedKeyServices: Set<String>?

    /// What holds where nobody says anything else: PINs of 4 and passwords of 8 characters, and every way in.
    public static let standard = VaultPolicy()

    /// Makes a policy. Each limit that is left out is as in ``standard``.
    ///
    /// - Parameters:
    ///   - minimumPINLength: the least number of characters of a new PIN.
    ///   - minimumPasswordLength: the least number of characters of a new password.
    ///   - maximumOfflineDays: the number of days that an account opens without the network; nil for no limit.
    ///   - allowedWaysIn: the ways in that may be added and used; nil for all.
    ///   - maximumIdleMinutes: the number of minutes without use before an agent forgets a session; nil for no limit.
    ///   - maximumSessionHours: the number of hours that an agent holds a session; nil for no limit.
    ///   - allowedIssuers: the issuer or base URLs that may be used; nil for all.
    ///   - allowedKeyServices: the base URLs of the key services that may be used; nil for all.
    public init(
        minimumPINLength: Int = PINRule.length.lowerBound, minimumPasswordLength: Int = 8,
        maximumOfflineDays: Int? = nil, allowedWaysIn: Set<Keyslot.Kind>? = nil, maximumIdleMinutes: Int? = nil,
        maximumSessionHours: Int? = nil, allowedIssuers: Set<String>? = nil, allowedKeyServices: Set<String>? = nil
    ) {
        self.minimumPINLength = minimumPINLength
        self.minimumPasswordLength = minimumPasswordLength
        self.maximumOfflineDays = maximumOfflineDays
        self.allowedWaysIn = allowedWaysIn
        self.maximumIdleMinutes = maximumIdleMinutes
        self.maximumSessionHours = maximumSessionHours
        self.allowedIssuers = allowedIssuers
        self.allowedKeyServices = allowedKeyServices
    }

    /// The stricter one of two policies in each point. Only ways in and servers that both allow are allowed.
    public static func stricter(of first: VaultPolicy, _ second: VaultPolicy) -> VaultPolicy {
        func least(_ limit: (VaultPolicy) -> Int?) -> Int? { [limit(first), limit(second)].compactMap(\.self).min() }
        func common<Value: Hashable>(_ list: (VaultPolicy) -> Set<Value>?) -> Set<Value>? {
            guard let first = list(first), let second = list(second) else { return list(first) ?? list(second) }
            return first.intersection(second)
        }
        return VaultPolicy(
            minimumPINLength: max(first.minimumPINLength, second.minimumPINLength),
            minimumPasswordLength: max(first.minimumPasswordLength, second.minimumPasswordLength),
            maximumOfflineDays: least(\.maximumOfflineDays), allowedWaysIn: common(\.allowedWaysIn),
            maximumIdleMinutes: least(\.maximumIdleMinutes), maximumSessionHours: least(\.maximumSessionHours),
            allowedIssuers: common(\.allowedIssuers), allowedKeyServices: common(\.allowedKeyServices))
    }

    /// Whether accounts of an identity provider, backend or server may be registered and opened.
    ///
    /// - Parameters:
    ///   - issuer: the issuer or base URL.
    ///   - method: how the account signs in, if that is known. The issuer of an OpenID provider is compared character by
    ///     character (OpenID Connect Discovery section 4.3), a base URL in its normal form.
    public func allows(issuer: String, method: SignInMethod? = nil) -> Bool {
        guard let allowedIssuers, !allowedIssuers.contains(issuer) else { return true }
        guard method != .openIDConnect, let url = try? ServerEndpoint(issuer).url else { return false }
        return allowedIssuers.contains { (try? ServerEndpoint($0).url) == url }
    }

    /// Whether accounts of a key service may be registered and opened.
    ///
    /// - Parameter url: its base URL, compared character by character.
    public func allows(keyService url: String) -> Bool { allowedKeyServices?.contains(url) ?? true }

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
