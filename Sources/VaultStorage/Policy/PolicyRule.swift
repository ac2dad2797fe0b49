internal import VaultBase
internal import VaultCrypto

/// One rule of a policy: its name in the machine's file, how its value is read, and which of two values is stricter.
struct PolicyRule: Sendable {
    /// The name in the file.
    let name: String
    /// Sets the rule from a value of the file. Throws what the value has to be.
    let read: @Sendable (_ value: JSONValue, _ policy: inout VaultPolicy) throws(Wrong) -> Void
    /// Makes the rule of the first policy as strict as that of the second.
    let tighten: @Sendable (_ policy: inout VaultPolicy, _ other: VaultPolicy) -> Void

    /// What a value has to be, as the end of a sentence.
    struct Wrong: Error {
        let rule: String
        var detail: VaultError.Detail?
    }

    /// The table of all rules. A new one needs a row, a property of ``VaultPolicy``, and the place that obeys it.
    static let all: [PolicyRule] = [
        .number("minimum-pin-length", 1...64, \.minimumPINLength, max),
        .number("minimum-password-length", 1...1024, \.minimumPasswordLength, max),
        .limit("maximum-offline-days", 0...3650, \.maximumOfflineDays, min),
        .limit("maximum-idle-minutes", 1...10_080, \.maximumIdleMinutes, min),
        .limit("maximum-session-hours", 1...8760, \.maximumSessionHours, min),
        .limit("key-service-protocol", 1...2, \.keyServiceProtocol, max),
        .limit("revocation-check-hours", 1...8760, \.revocationCheckHours, min),
        .list("allowed-issuers", \.allowedIssuers, issuers),
        .list("allowed-key-services", \.allowedKeyServices, keyServices),
        .list("key-service-keys", \.keyServiceKeys, keys),
        .list("allowed-unlock-methods", \.allowedUnlockMethods, kinds),
        .ban("forbidden-unlock-methods", \.forbiddenUnlockMethods, kinds),
        .demand("require-key-service", \.requiresKeyService),
    ]

    private typealias Property<Value> = WritableKeyPath<VaultPolicy, Value> & Sendable

    private static func number(
        _ name: String, _ range: ClosedRange<Int>, _ rule: any Property<Int>,
        _ stricter: @escaping @Sendable (Int, Int) -> Int
    ) -> PolicyRule {
        PolicyRule(name: name) { value, policy throws(Wrong) in
            policy[keyPath: rule] = try number(value, range)
        } tighten: { policy, other in
            policy[keyPath: rule] = stricter(policy[keyPath: rule], other[keyPath: rule])
        }
    }

    /// A number that may be missing.
    private static func limit(
        _ name: String, _ range: ClosedRange<Int>, _ rule: any Property<Int?>,
        _ stricter: @escaping @Sendable (Int, Int) -> Int
    ) -> PolicyRule {
        PolicyRule(name: name) { value, policy throws(Wrong) in
            policy[keyPath: rule] = try number(value, range)
        } tighten: { policy, other in
            guard let theirs = other[keyPath: rule] else { return }
            policy[keyPath: rule] = policy[keyPath: rule].map { stricter($0, theirs) } ?? theirs
        }
    }

    /// A list of what is allowed. What is allowed by two policies stands in both lists.
    private static func list<Value: Hashable & Sendable>(
        _ name: String, _ rule: any Property<Set<Value>?>,
        _ values: @escaping @Sendable (JSONValue) throws(Wrong) -> Set<Value>
    ) -> PolicyRule {
        PolicyRule(name: name) { value, policy throws(Wrong) in
            policy[keyPath: rule] = try values(value)
        } tighten: { policy, other in
            guard let theirs = other[keyPath: rule] else { return }
            policy[keyPath: rule] = policy[keyPath: rule]?.intersection(theirs) ?? theirs
        }
    }

    /// A list of what is forbidden. What one of two policies forbids, both together forbid.
    private static func ban<Value: Hashable & Sendable>(
        _ name: String, _ rule: any Property<Set<Value>>,
        _ values: @escaping @Sendable (JSONValue) throws(Wrong) -> Set<Value>
    ) -> PolicyRule {
        PolicyRule(name: name) { value, policy throws(Wrong) in
            policy[keyPath: rule] = try values(value)
        } tighten: { policy, other in
            policy[keyPath: rule] = policy[keyPath: rule].union(other[keyPath: rule])
        }
    }

    /// A demand that is made or not. What one of two policies demands, both together demand.
    private static func demand(_ name: String, _ rule: any Property<Bool>) -> PolicyRule {
        PolicyRule(name: name) { value, policy throws(Wrong) in
            guard let isMade = value.bool else { throw Wrong(rule: "true or false.") }
            policy[keyPath: rule] = isMade
        } tighten: { policy, other in
            policy[keyPath: rule] = policy[keyPath: rule] || other[keyPath: rule]
        }
    }

    // MARK: - Values

    private static func number(_ value: JSONValue, _ range: ClosedRange<Int>) throws(Wrong) -> Int {
        guard let number = value.exactInteger.flatMap(Int.init), range.contains(number) else {
            throw Wrong(rule: "a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    @Sendable private static func kinds(_ value: JSONValue) throws(Wrong) -> Set<Keyslot.Kind> {
        guard let names = value.strings, !names.isEmpty, names.allSatisfy({ !$0.isEmpty }) else {
            throw Wrong(rule: "a list of unlock methods, such as [\"password\", \"pin\"].")
        }
        return Set(names.map(Keyslot.Kind.init))
    }

    @Sendable private static func keys(_ value: JSONValue) throws(Wrong) -> Set<String> {
        guard let keys = value.strings, (1...2).contains(keys.count),
            keys.allSatisfy({ Signature.publicKey($0) != nil })
        else {
            throw Wrong(
                rule: "a list of one or two identity keys of key services, in base64url.", detail: .policyKeysInvalid)
        }
        return Set(keys)
    }

    @Sendable private static func issuers(_ value: JSONValue) throws(Wrong) -> Set<String> {
        // A server on the local network may have plain http, if the person allows it, too.
        try urls(value, allowsInsecureHTTP: true)
    }

    @Sendable private static func keyServices(_ value: JSONValue) throws(Wrong) -> Set<String> {
        try urls(value, allowsInsecureHTTP: false)
    }

    private static func urls(_ value: JSONValue, allowsInsecureHTTP: Bool) throws(Wrong) -> Set<String> {
        guard let urls = value.strings, !urls.isEmpty,
            urls.allSatisfy({ url in
                url.contains("://") && (try? ServerEndpoint(url, allowsInsecureHTTP: allowsInsecureHTTP)) != nil
            })
        else { throw Wrong(rule: "a list of https URLs, such as [\"https://login.example.com\"].") }
        return Set(urls)
    }
}
