/// The kinds of requests in the log and in the metrics.
enum ServiceRoute: Int, CaseIterable {
    case createKey, key, alive, ready, metrics
    // The protocol's version 2.
    case versions, openAPI, create, evaluate, confirm, end, claim, devices, revoke, rename, unlock
    /// Any other path.
    case none

    /// The name of the kind.
    var name: String {
        switch self {
        case .createKey: "createkey"
        case .key: "key"
        case .alive: "healthz"
        case .ready: "readyz"
        case .metrics: "metrics"
        case .versions: "versions"
        case .openAPI: "openapi"
        case .create: "create"
        case .evaluate: "evaluate"
        case .confirm: "confirm"
        case .end: "end"
        case .claim: "claim"
        case .devices: "devices"
        case .revoke: "revoke"
        case .rename: "rename"
        case .unlock: "unlock"
        case .none: "none"
        }
    }
}
