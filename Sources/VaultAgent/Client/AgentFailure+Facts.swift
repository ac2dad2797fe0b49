package import VaultAgentProtocol
internal import VaultCrypto
package import VaultStorage

// An error of the agent reaches the client as it was, but for the error that caused it.
extension AgentFailure {
    private enum Fact {
        static let detail = "detail"
        static let value = "value"
        static let unlockMethod = "unlockMethod"
        static let guesses = "guesses"
        static let seconds = "seconds"
        static let objection = "objection"
        static let secret = "secret"
        static let least = "least"
        static let most = "most"
        static let objectionText = "objection-text"
        static let rule = "rule"
        static let number = "number"
        static let allowed = "allowed"
        static let refused = "refused"
        static let ruleText = "rule-text"
    }

    init(_ error: VaultError) {
        self.init(code: error.code.name, message: error.description)
        facts[Fact.detail] = error.detail?.name
        facts[Fact.value] = error.value
        facts[Fact.unlockMethod] = error.unlockMethod?.rawValue
        facts[Fact.guesses] = error.guessesRemaining.map(String.init)
        facts[Fact.seconds] = error.retryAfter.map { String($0.components.seconds) }
        if let objection = error.objection {
            facts[Fact.objection] = objection.code.name
            facts[Fact.secret] = objection.secret.name
            facts[Fact.least] = objection.least.map(String.init)
            facts[Fact.most] = objection.most.map(String.init)
            facts[Fact.objectionText] = objection.description
        }
        if let objection = error.policyObjection {
            facts[Fact.rule] = objection.rule.name
            facts[Fact.number] = objection.number.map(String.init)
            // Neither the kind of an unlock method nor a URL contains a line break.
            facts[Fact.allowed] = objection.allowed.joined(separator: "\n")
            facts[Fact.refused] = objection.refused
            facts[Fact.ruleText] = objection.description
        }
    }

    fileprivate var detail: VaultError.Detail? { facts[Fact.detail].map(VaultError.Detail.init) }

    fileprivate var value: String? { facts[Fact.value] }

    fileprivate var unlockMethod: Keyslot.Kind? { facts[Fact.unlockMethod].map(Keyslot.Kind.init) }

    fileprivate var guesses: Int? { number(Fact.guesses) }

    fileprivate var pause: Duration? { number(Fact.seconds).map { .seconds($0) } }

    fileprivate var objection: SecretObjection? {
        guard let code = facts[Fact.objection], let secret = facts[Fact.secret] else { return nil }
        return SecretObjection(
            SecretObjection.Code(name: code), of: SecretObjection.Secret(name: secret), least: number(Fact.least),
            most: number(Fact.most), facts[Fact.objectionText] ?? message)
    }

    fileprivate var policyObjection: PolicyObjection? {
        guard let rule = facts[Fact.rule] else { return nil }
        return PolicyObjection(
            PolicyObjection.Rule(name: rule), number: number(Fact.number),
            allowed: (facts[Fact.allowed] ?? "").split(separator: "\n").map(String.init),
            refused: facts[Fact.refused], facts[Fact.ruleText] ?? message)
    }

    private func number(_ name: String) -> Int? { facts[name].flatMap { Int($0) } }
}

extension VaultError {
    package init(_ failure: AgentFailure) {
        self.init(
            Code(name: failure.code), failure.message, detail: failure.detail, value: failure.value,
            unlockMethod: failure.unlockMethod,
            guessesRemaining: failure.guesses, retryAfter: failure.pause, objection: failure.objection,
            policyObjection: failure.policyObjection)
    }
}
