/// The rules of an app or of the machine's administrator: the least length of new secrets, the time without the
/// network, the unlock methods, and the servers.
///
/// The rules bind only programs that use this library. A thief who has the disk uses another program.
public struct VaultPolicy: Sendable, Hashable {
    /// The least number of characters of a new PIN. A shorter existing PIN still opens its account.
    public var minimumPINLength: Int
    /// The least number of characters of a new password. A shorter existing password still opens its account.
    public var minimumPasswordLength: Int
    /// The greatest number of days without the network in which an account opens. Nil for no limit other than the
    /// app's. After them, a session that was opened without the key service locks, unless the provider confirmed it.
    public var maximumOfflineDays: Int?
    /// The unlock methods that may be added and used; nil for all. Hardware that opens an account without the key
    /// service needs `offline`, too.
    public var allowedUnlockMethods: Set<Keyslot.Kind>?
    /// The unlock methods that may be neither added nor used, also if ``allowedUnlockMethods`` has them.
    public var forbiddenUnlockMethods: Set<Keyslot.Kind>
    /// The greatest number of minutes without use in which a session stays open. Nil for no limit other than those of
    /// the app or the agent.
    public var maximumIdleMinutes: Int?
    /// The greatest number of hours in which a session stays open. Nil for no limit other than the agent's.
    public var maximumSessionHours: Int?
    /// The identity providers, backends and servers whose accounts may be registered and opened, by their issuer or
    /// base URLs; nil for all.
    public var allowedIssuers: Set<String>?
    /// The key services whose accounts may be registered and opened, by their base URLs as configured; nil for all.
    public var allowedKeyServices: Set<String>?
    /// The lowest version of the key service's protocol that an unlock method may speak; nil for any. With 2, the key
    /// service learns nothing about a password, and recorded traffic cannot test a password.
    public var keyServiceProtocol: Int?
    /// The identity keys of key services that may make new keys, in base64url; nil for the key that the store met first
    /// at an address. A login needs none of them. A service whose earlier key is named may also have a later one.
    public var keyServiceKeys: Set<String>?
    /// The greatest number of hours for which a session renews its tokens without an answer of the key service that
    /// this device was not revoked. Nil for 12. Then the session locks.
    public var revocationCheckHours: Int?
    /// Whether each account needs a key service. Then an account without one can neither be registered nor opened. It
    /// can still move to a key service.
    public var requiresKeyService: Bool

    /// The rules that apply by default: PINs of 4 and passwords of 8 characters, and every unlock method.
    public static let standard = VaultPolicy()

    /// The policy under which nothing opens, for a program that only closes while the machine's policy cannot be read.
    package static let nothing = VaultPolicy(allowedUnlockMethods: [], allowedIssuers: [], allowedKeyServices: [])

    /// Makes a policy. Each limit that is left out is as in ``standard``.
    ///
    /// - Parameters:
    ///   - minimumPINLength: the least number of characters of a new PIN.
    ///   - minimumPasswordLength: the least number of characters of a new password.
    ///   - maximumOfflineDays: the number of days that an account opens without the network; nil for no limit.
    ///   - allowedUnlockMethods: the unlock methods that may be added and used; nil for all.
    ///   - maximumIdleMinutes: the number of minutes without use before a session is locked; nil for no limit.
    ///   - maximumSessionHours: the number of hours before a session is locked in any case; nil for no limit.
    ///   - allowedIssuers: the issuer or base URLs that may be used; nil for all.
    ///   - allowedKeyServices: the base URLs of the key services that may be used; nil for all.
    ///   - keyServiceProtocol: the lowest version of the key service's protocol, 1 or 2; nil for any.
    ///   - keyServiceKeys: the identity keys of key services that may make new keys; nil for those met first.
    ///   - revocationCheckHours: the number of hours for which a session goes on without the key service; nil for 12.
    ///   - forbiddenUnlockMethods: the unlock methods that may be neither added nor used.
    ///   - requiresKeyService: whether each account needs a key service.
    public init(
        minimumPINLength: Int = 4, minimumPasswordLength: Int = 8,
        maximumOfflineDays: Int? = nil, allowedUnlockMethods: Set<Keyslot.Kind>? = nil, maximumIdleMinutes: Int? = nil,
        maximumSessionHours: Int? = nil, allowedIssuers: Set<String>? = nil, allowedKeyServices: Set<String>? = nil,
        keyServiceProtocol: Int? = nil, keyServiceKeys: Set<String>? = nil, revocationCheckHours: Int? = nil,
        forbiddenUnlockMethods: Set<Keyslot.Kind> = [], requiresKeyService: Bool = false
    ) {
        self.minimumPINLength = minimumPINLength
        self.minimumPasswordLength = minimumPasswordLength
        self.maximumOfflineDays = maximumOfflineDays
        self.allowedUnlockMethods = allowedUnlockMethods
        self.maximumIdleMinutes = maximumIdleMinutes
        self.maximumSessionHours = maximumSessionHours
        self.allowedIssuers = allowedIssuers
        self.allowedKeyServices = allowedKeyServices
        self.keyServiceProtocol = keyServiceProtocol
        self.keyServiceKeys = keyServiceKeys
        self.revocationCheckHours = revocationCheckHours
        self.forbiddenUnlockMethods = forbiddenUnlockMethods
        self.requiresKeyService = requiresKeyService
    }

    /// Combines two policies and takes the stricter rule of each kind. Unlock methods and servers must be allowed by
    /// both, and unlock methods forbidden by neither.
    public static func stricter(of first: VaultPolicy, _ second: VaultPolicy) -> VaultPolicy {
        var policy = first
        for rule in PolicyRule.all { rule.tighten(&policy, second) }
        return policy
    }

    /// Whether accounts of an identity provider, backend or server may be registered and opened.
    ///
    /// - Parameters:
    ///   - issuer: the issuer or base URL.
    ///   - method: how the account signs in, if it is known. An OpenID provider's issuer is compared character by
    ///     character (OpenID Connect Discovery section 4.3), a base URL in its normal form.
    public func allows(issuer: String, method: SignInMethod? = nil) -> Bool {
        guard let allowedIssuers, !allowedIssuers.contains(issuer) else { return true }
        func normal(_ text: String) -> String? { try? ServerEndpoint(text, allowsInsecureHTTP: true).url }
        guard method != .openIDConnect, let url = normal(issuer) else { return false }
        return allowedIssuers.contains { normal($0) == url }
    }

    /// Whether accounts with this key service may be registered and opened.
    ///
    /// - Parameter url: the base URL of the key service, compared character by character; empty for an account without
    ///   a key service.
    public func allows(keyService url: String) -> Bool {
        url.isEmpty ? ruleForKeyService == nil : allowedKeyServices?.contains(url) ?? true
    }

    /// The rule that forbids accounts without a key service; nil if none does. Only a key service can keep these rules.
    package var ruleForKeyService: PolicyObjection.Rule? {
        if requiresKeyService { return .requireKeyService }
        if allowedKeyServices != nil { return .allowedKeyServices }
        // After these days, nothing could open such an account any more.
        if maximumOfflineDays != nil { return .maximumOfflineDays }
        if revocationCheckHours != nil { return .revocationCheckHours }
        guard !allows(.offline) else { return nil }
        return forbiddenUnlockMethods.contains(.offline) ? .forbiddenUnlockMethods : .allowedUnlockMethods
    }

    /// Whether unlock methods of this kind may be added and used.
    public func allows(_ kind: Keyslot.Kind) -> Bool {
        !forbiddenUnlockMethods.contains(kind) && allowedUnlockMethods?.contains(kind) ?? true
    }

    /// Whether unlock methods may speak this version of the key service's protocol.
    public func allows(keyServiceProtocol version: Int) -> Bool { version >= keyServiceProtocol ?? version }

    /// Whether this unlock method may be used. If it needs no key service, it needs `offline`, too.
    public func allows(_ slot: Keyslot) -> Bool {
        guard allows(slot.kind) else { return false }
        return slot.keyServiceProtocol.map { allows(keyServiceProtocol: $0) } ?? allows(.offline)
    }
}
