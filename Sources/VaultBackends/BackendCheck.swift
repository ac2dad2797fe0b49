internal import HTTPTypes
internal import OpenIDConnect
internal import VaultBase
package import VaultHTTP
internal import VaultStorage

/// A test that a backend or server answers, and has the calls that a sign-in needs. It signs nobody in: it reads
/// without a token, and posts empty JSON objects.
package struct BackendCheck: Sendable {
    /// The kind of backend, which decides about the calls.
    package enum Kind: Sendable {
        case browser, password, server
    }

    /// The answer to one call.
    package struct Finding: Sendable, Equatable {
        package let call: String
        package let status: Int
        /// The server's version; nil unless the layout names its member.
        package let version: String?
        /// Whether a sign-in also works without the call.
        package let isOptional: Bool

        /// Whether the call exists. A refusal proves that, too, as the request had no token.
        package var isThere: Bool { BackendConnection.isThere(status) }
    }

    private let endpoint: ServerEndpoint
    private let connection: ProviderConnection
    private let kind: Kind
    private let layout: BackendLayout

    /// - Throws: ``VaultError`` with code `configurationInvalid` if `url` is not the address of a backend.
    package init(_ url: String, as kind: Kind, layout: BackendLayout, transport: any HTTPTransport) throws {
        // The check sends nothing secret, so plain http on the local network needs no permission.
        endpoint = try ServerEndpoint(url, allowsInsecureHTTP: true)
        connection = endpoint.connection(over: transport)
        self.kind = kind
        self.layout = layout
    }

    /// Tries each call, and stops at the first call without an answer.
    ///
    /// - Throws: ``OpenIDConnectError`` if the backend cannot be reached, does not answer in HTTP, or is out of order.
    package func run() async throws -> [Finding] {
        var findings: [Finding] = []
        for (method, path) in calls where !path.isEmpty {
            let url = endpoint.url(path)
            let answer =
                method == .get
                ? try await connection.send(.get, url) : try await connection.post(url, json: .object([:]))
            if let outage = ProviderConnection.outage(answer.status.code) { throw outage }
            // An older server does not say what it has. Its profile shows that it is such a server.
            if kind == .server, path == layout.server.info, [404, 410].contains(answer.status.code) { continue }
            findings.append(
                Finding(
                    call: "\(method.rawValue) \(path)", status: answer.status.code,
                    version: path == layout.server.info ? version(in: answer) : nil,
                    isOptional: kind == .password && path == layout.password.me))
        }
        return findings
    }

    private func version(in answer: HTTPAnswer) -> String? {
        guard kind == .server else { return nil }
        return JSONValue(objectIn: answer.body)?[path: layout.server.version]?.string
    }

    /// The calls of a sign-in or a renewal.
    private var calls: [(HTTPRequest.Method, String)] {
        switch kind {
        case .browser: [(.get, layout.browser.me), (.post, layout.browser.token)]
        case .password:
            [(.get, layout.password.me), (.post, layout.password.login), (.post, layout.password.refresh)]
        case .server: [(.get, layout.server.info), (.get, layout.server.profile)]
        }
    }
}
