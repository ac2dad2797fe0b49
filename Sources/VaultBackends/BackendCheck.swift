internal import Foundation
internal import HTTPTypes
internal import OpenIDConnect
internal import VaultAuth
package import VaultHTTP
internal import VaultJSON
internal import VaultStorage

/// Asks a backend or server whether it is there and has the calls that a sign-in needs, without signing anybody in: what
/// is read is read without a token, and what is posted is an empty JSON object.
package struct BackendCheck: Sendable {
    /// What a backend is used as.
    package enum Kind: Sendable {
        case browser, password, server
    }

    /// What one call was answered.
    package struct Finding: Sendable, Equatable {
        package let call: String
        package let status: Int
        /// The server's version, where the layout says where the answer has it.
        package let version: String?

        /// Whether there is such a call. A refusal is an answer, too: nobody said who asks.
        package var isThere: Bool { (200..<300).contains(status) || (400..<500).contains(status) && !isMissing }
        private var isMissing: Bool { [404, 405, 410].contains(status) }
    }

    private let endpoint: ServerEndpoint
    private let connection: ProviderConnection
    private let kind: Kind
    private let layout: BackendLayout

    /// - Throws: ``VaultError`` with code `configurationInvalid` for what is no address of a backend.
    package init(_ url: String, as kind: Kind, layout: BackendLayout, transport: any HTTPTransport) throws {
        endpoint = try ServerEndpoint(url)
        connection = ProviderConnection(transport: transport)
        self.kind = kind
        self.layout = layout
    }

    /// Asks for each call, and ends with the first that gets no answer.
    ///
    /// - Throws: ``OpenIDConnectError`` when the backend cannot be reached, answers what is no HTTP, or is out of order.
    package func run() async throws -> [Finding] {
        var findings: [Finding] = []
        for (method, path) in calls where !path.isEmpty {
            let url = endpoint.url(path)
            let answer =
                method == .get
                ? try await connection.send(.get, url) : try await connection.post(url, json: .object([:]))
            if let outage = ProviderConnection.outage(answer.status.code) { throw outage }
            findings.append(
                Finding(
                    call: "\(method.rawValue) \(path)", status: answer.status.code,
                    version: path == layout.server.info ? version(in: answer) : nil))
        }
        return findings
    }

    private func version(in answer: HTTPAnswer) -> String? {
        guard kind == .server, let path = layout.server.version else { return nil }
        return JSONValue(objectIn: answer.body)?[path: path]?.string
    }

    /// Only what every sign-in, or every renewal, needs.
    private var calls: [(HTTPRequest.Method, String)] {
        switch kind {
        case .browser: [(.get, layout.browser.me), (.post, layout.browser.token)]
        case .password:
            [(.get, layout.password.me), (.post, layout.password.login), (.post, layout.password.refresh)]
        case .server: [(.get, layout.server.info), (.get, layout.server.profile)]
        }
    }
}
