/// The paths and field names of the backends that are no OpenID providers, all with their usual values.
public struct BackendLayout: Sendable, Codable, Hashable {
    public init() {}
}
