internal import FoundationEssentials
internal import HTTPTypes
package import VaultBase
internal import VaultHTTP

extension ProviderConnection {
    /// The member names of a registration, as dotted paths. The defaults are the names of RFC 7591.
    package struct RegistrationFields: Sendable {
        package var clientName = "client_name"
        package var redirectURIs = "redirect_uris"
        package var clientID = "client_id"
        package var clientSecret = "client_secret"

        package init() {}
    }

    /// Registers a client that asks for no secret (RFC 7591 section 3).
    ///
    /// - Parameters:
    ///   - details: an object with more members for the request.
    ///   - initialAccessToken: a token for servers that register no client without it.
    package func register(
        _ client: ClientMetadata, at url: String, fields: RegistrationFields = .init(),
        grantTypes: [String] = ["authorization_code", "refresh_token"], details: JSONValue,
        initialAccessToken: String? = nil
    ) async throws -> RegisteredClient {
        func list(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }
        var request = details
        request.set(.string(client.name), at: fields.clientName)
        request.set(list(client.redirectURIs), at: fields.redirectURIs)
        request.set(list(["code"]), at: "response_types")
        request.set(list(grantTypes), at: "grant_types")
        request.set(.string("none"), at: "token_endpoint_auth_method")
        if !client.scopes.isEmpty { request.set(.string(client.scopes.joined(separator: " ")), at: "scope") }
        var header: HTTPFields = [:]
        if let initialAccessToken { header[.authorization] = "Bearer " + initialAccessToken }
        let answer = try await post(url, json: request, fields: header)
        // The RFC says 201, but some servers answer 200.
        guard (200..<300).contains(answer.status.code) else {
            throw Self.outage(answer.status.code) ?? Self.refusal(answer)
        }
        guard let json = JSONValue(objectIn: answer.body) else {
            throw OpenIDConnectError(
                .invalidAnswer, "the registration is not JSON", status: answer.status.code, mayHaveBeenProcessed: true)
        }
        return try Self.registered(json, fields, asked: client, status: answer.status.code)
    }

    private static func registered(
        _ json: JSONValue, _ fields: RegistrationFields, asked: ClientMetadata, status: Int
    ) throws -> RegisteredClient {
        func text(_ path: String) -> String? { TokenAnswer.text(json[path: path]) }
        guard let clientID = text(fields.clientID) else {
            throw OpenIDConnectError(
                .invalidAnswer, "the registration has no client ID", status: status, mayHaveBeenProcessed: true)
        }
        let method = text("token_endpoint_auth_method")
        // Some servers give a secret even to a client that uses none.
        let secret = method == "none" ? nil : text(fields.clientSecret)
        // 0 means never.
        let expiry = json["client_secret_expires_at"]?.number.flatMap { $0 > 0 ? Date(timeIntervalSince1970: $0) : nil }
        let managementURI = text("registration_client_uri").flatMap { EndpointURL.isAllowed($0) ? $0 : nil }
        return RegisteredClient(
            clientID: clientID, clientSecret: secret, secretExpiresAt: secret == nil ? nil : expiry,
            tokenEndpointAuthMethod: method,
            redirectURIs: json[path: fields.redirectURIs]?.strings ?? asked.redirectURIs,
            registrationClientURI: managementURI,
            registrationAccessToken: managementURI == nil ? nil : text("registration_access_token"))
    }
}
