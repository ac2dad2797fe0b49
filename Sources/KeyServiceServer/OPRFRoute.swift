internal import KeyServiceAPI
internal import KeyServiceCore

/// The paths of the protocol's version 2.
enum OPRFRoute: Hashable {
    case versions, openAPI, create
    case key(id: String, OPRFPath.Call)
    case devices
    case device(id: String, OPRFPath.DeviceCall)

    /// The path of the OpenAPI document.
    private static let openAPIPath = OPRFPath.base + "/openapi.json"

    /// - Parameters:
    ///   - path: the path of a request.
    ///   - basePath: the base path of the service.
    init?(_ path: String, basePath: String) {
        guard path.hasPrefix(basePath + OPRFPath.base) else { return nil }
        let path = path.dropFirst(basePath.count)
        switch path {
        case Substring(OPRFPath.base): self = .versions
        case Substring(Self.openAPIPath): self = .openAPI
        case Substring(OPRFPath.keys): self = .create
        case Substring(OPRFPath.devices): self = .devices
        default:
            // /keyservice/v2/keys/ID/CALL
            let parts = path.utf8.dropFirst(OPRFPath.base.utf8.count + 1)
                .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Substring($0) }
            guard parts.count == 3 else { return nil }
            let folder = "\(OPRFPath.base)/\(parts[0])"
            if folder == OPRFPath.keys, let call = OPRFPath.Call(rawValue: String(parts[2])) {
                self = .key(id: String(parts[1]), call)
            } else if folder == OPRFPath.devices, let call = OPRFPath.DeviceCall(rawValue: String(parts[2])) {
                self = .device(id: String(parts[1]), call)
            } else {
                return nil
            }
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
        case .key(_, .claim): .claim
        case .devices: .devices
        case .device(_, .revoke): .revoke
        case .device(_, .rename): .rename
        }
    }
}
