public import KeyServiceClient
internal import VaultBase
internal import VaultCrypto

// The identity of the service, which signs each new key.
extension InMemoryOPRFKeyService {
    final class Identity: Sendable {
        let key: SigningKey
        let chain: [ServiceIdentity.Link]

        /// Makes a new key, signed by the earlier one if there is one.
        init(after earlier: Identity? = nil) throws {
            let new = try SigningKey(seed: SecretBytes.random(count: 32))
            if let earlier {
                chain = earlier.chain + [earlier.key.next(new.publicKey)]
            } else {
                chain = []
            }
            key = new
        }

        var announced: ServiceIdentity { ServiceIdentity(key: key.publicKey, chain: chain) }
    }

    /// The identity that signs new keys now; nil while ``hasIdentity`` is false.
    public var identity: ServiceIdentity? {
        get throws { try state.withLock { try Self.signer(&$0)?.announced } }
    }

    /// Whether it has an identity. Set it to false for an older service.
    public var hasIdentity: Bool {
        get { state.withLock { $0.hasIdentity } }
        set { state.withLock { $0.hasIdentity = newValue } }
    }

    /// Whether another identity signs new keys, as at a thief's server between client and service.
    public var isImpostor: Bool {
        get { state.withLock { $0.impostor != nil } }
        set { state.withLock { $0.impostor = newValue ? try? Identity() : nil } }
    }

    /// Makes a new identity key, which the old one signs, as the operator does.
    public func rotateIdentity() throws {
        try state.withLock { state in
            let old = try Self.signer(&state)
            state.identity = try Identity(after: old)
        }
    }

    func signed(
        _ evaluation: FirstEvaluation, of key: NewOPRFKey, _ state: inout State
    ) throws -> FirstEvaluation {
        guard let identity = try Self.signer(&state) else { return evaluation }
        return FirstEvaluation(
            element: evaluation.element, ticket: evaluation.ticket, claimWithin: evaluation.claimWithin,
            identity: identity.announced,
            signature: identity.key.created(
                key.id, key.blinded, evaluation.element, claimWithin: evaluation.claimWithin))
    }

    private static func signer(_ state: inout State) throws -> Identity? {
        guard state.hasIdentity else { return nil }
        if let identity = state.impostor ?? state.identity { return identity }
        let new = try Identity()
        state.identity = new
        return new
    }
}
