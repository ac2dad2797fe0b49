internal import FoundationEssentials
internal import HTTPTypes
internal import VaultBase
internal import VaultHTTP

extension ProviderConnection {
    /// Fetches a JSON object and its lifetime in seconds.
    func getDocument(
        _ url: String, named name: String, within limit: Duration = .seconds(30)
    ) async throws -> (json: JSONValue, lifetime: TimeInterval) {
        let answer: HTTPAnswer
        do {
            answer = try await send(.get, url, within: limit)
        } catch let error as OpenIDConnectError {
            throw error.processed(false)  // Reading changes nothing at the provider.
        }
        guard answer.status == .ok else {
            if let error = Self.outage(answer.status.code) { throw error.processed(false) }
            throw OpenIDConnectError(
                .invalidAnswer, "\(name) cannot be read (HTTP \(answer.status.code) at \(url))",
                status: answer.status.code)
        }
        guard let json = JSONValue(objectIn: answer.body) else {
            throw OpenIDConnectError(.invalidAnswer, "\(name) is not a JSON object", status: answer.status.code)
        }
        return (json, DocumentLifetime.seconds(of: answer.headerFields))
    }
}
