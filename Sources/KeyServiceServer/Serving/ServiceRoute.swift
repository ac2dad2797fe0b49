internal import HTTPTypes

/// The kinds of requests.
enum ServiceRoute: Int, CaseIterable {
    case createKey, key, alive, ready, metrics
    /// Any other path.
    case none

    /// The name in the log and in the metrics.
    var name: String {
        switch self {
        case .createKey: "createkey"
        case .key: "key"
        case .alive: "healthz"
        case .ready: "readyz"
        case .metrics: "metrics"
        case .none: "none"
        }
    }

    /// The allowed methods, as in the field `Allow`.
    var methods: String {
        switch self {
        case .createKey, .key, .none: "POST"
        case .alive, .ready, .metrics: "GET, HEAD"
        }
    }

    func allows(_ method: HTTPRequest.Method) -> Bool {
        switch self {
        case .createKey, .key, .none: method == .post
        case .alive, .ready, .metrics: method == .get || method == .head
        }
    }
}
