internal import KeyServiceAPI

/// The paths of the protocol's version 2.
enum ObliviousRoute: Hashable {
    case versions, openAPI, create
    case key(id: String, ObliviousPath.Call)

    /// The path of the OpenAPI document.
    private static let openAPIPath = ObliviousPath.base + "/openapi.json"

    /// - Parameters:
    ///   - path: the path of a request.
    ///   - basePath: the base path of the service.
    init?(_ path: String, basePath: String) {
        guard path.hasPrefix(basePath + ObliviousPath.base) else { return nil }
        let path = path.dropFirst(basePath.count)
        switch path {
        case Substring(ObliviousPath.base): self = .versions
        case Substring(Self.openAPIPath): self = .openAPI
        case Substring(ObliviousPath.keys): self = .create
        default:
            guard path.hasPrefix(ObliviousPath.keys + "/") else { return nil }
            let parts = path.dropFirst(ObliviousPath.keys.count + 1).split(
                separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, let call = ObliviousPath.Call(rawValue: String(parts[1])) else { return nil }
            self = .key(id: String(parts[0]), call)
        }
    }

    /// The route in the log and in the metrics.
    var route: ServiceRoute {
        switch self {
        case .versions: .versions
        case .openAPI: .openAPI
        case .create: .create
        case .key(_, .evaluate): .evaluate
        case .key(_, .confirm): .confirm
        case .key(_, .end): .end
        }
    }
}
