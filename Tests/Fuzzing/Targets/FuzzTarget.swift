/// A reader of bytes from outside. It may refuse any input, but must not trap, and must take less than a second and 100 MB.
enum FuzzTarget: String, CaseIterable, Sendable {
    case json
    case idToken = "id-token"
    case metadata
    case recoveryCode = "recovery-code"
    case providerAnswer = "provider-answer"
    case storedForms = "stored-forms"
    case sealedEnvelope = "sealed-envelope"
    case keyServiceRequest = "key-service-request"
    case redirect
    case keyServiceAnswer = "key-service-answer"
    case pkcs11URI = "pkcs11-uri"
    case peerTable = "peer-table"
    case agentMessages = "agent-messages"
    case backup
    case auditLine = "audit-line"
    case oprfFunction = "oprf-function"
    case oprfRequest = "oprf-request"
    case minisign

    func run(_ bytes: [UInt8]) async {
        switch self {
        case .json: Self.json(bytes)
        case .idToken: await Self.idToken(bytes)
        case .metadata: Self.metadata(bytes)
        case .recoveryCode: Self.recoveryCode(bytes)
        case .providerAnswer: await Self.providerAnswer(bytes)
        case .storedForms: Self.storedForms(bytes)
        case .sealedEnvelope: Self.sealedEnvelope(bytes)
        case .keyServiceRequest: await Self.keyServiceRequest(bytes)
        case .redirect: Self.redirect(bytes)
        case .keyServiceAnswer: await Self.keyServiceAnswer(bytes)
        case .pkcs11URI: Self.pkcs11URI(bytes)
        case .peerTable: Self.peerTable(bytes)
        case .agentMessages: Self.agentMessages(bytes)
        case .backup: Self.backup(bytes)
        case .auditLine: Self.auditLine(bytes)
        case .oprfFunction: Self.oprfFunction(bytes)
        case .oprfRequest: await Self.oprfRequest(bytes)
        case .minisign: Self.minisign(bytes)
        }
    }
}
