import Foundation
import HTTPTypes
import VaultHTTP

@testable import OpenIDConnect

/// Gives the answer to each request, with the test's alterations.
extension MisbehavingProvider.State {
    typealias Members = Alterations.Members

    mutating func answer(_ index: Int, at now: Date) throws -> HTTPAnswer {
        let (endpoint, request) = (log[index].endpoint, log[index].request)
        switch (request.method, endpoint) {
        case ("GET", .discovery), ("GET", .serverMetadata):
            guard features.documents.contains(endpoint) else { return .text("", status: 404) }
            let change = endpoint == .discovery ? alterations.metadata : alterations.serverMetadata
            return try answer(index, metadata, altered: change)
        case ("GET", .keys):
            var keys: [Members] = published.map(\.jwk)
            if let change = alterations.keys {
                change(&keys)
                log[index].isAltered = true
            }
            return .text(try json(["keys": keys]))
        case ("GET", .authorization): return try authorize(index)
        case ("POST", .pushedAuthorization): return try push(index, at: now)
        case ("POST", .token): return try giveTokens(index, at: now)
        case ("GET", .userinfo): return try userinfo(index, at: now)
        case ("POST", .device): return try authorizeDevice(index)
        case ("POST", .registration): return try register(index)
        case ("POST", .revocation):
            grants[log[index].parameters["token"] ?? ""] = nil
            return .text("")
        case ("GET", .endSession):
            var answer = HTTPAnswer.text("", status: 302)
            let parameters = log[index].parameters
            answer.headerFields[.location] =
                "\(parameters["post_logout_redirect_uri"] ?? "")?state=\(parameters["state"] ?? "")"
            return answer
        default: return .text("not here", status: 404)
        }
    }

    /// The members as JSON, with the test's alterations.
    mutating func answer(
        _ index: Int, _ members: Members, altered change: (@Sendable (inout Members) -> Void)?, status: Int = 200
    ) throws -> HTTPAnswer {
        var members = members
        if let change {
            change(&members)
            log[index].isAltered = true
        }
        var answer = HTTPAnswer.text(try json(members.filter { !($0.value is NSNull) }), status: status)
        answer.headerFields[.contentType] = "application/json"
        return answer
    }

    /// A secret. The provider remembers that it gave it out.
    mutating func issue(_ kind: String) -> String {
        let secret = kind + "-" + RandomText.make()
        issued.insert(secret)
        return secret
    }

    func refusal(_ error: String, status: Int = 400) -> HTTPAnswer {
        .text(#"{"error":"\#(error)","error_description":"by the misbehaving provider"}"#, status: status)
    }

    private var metadata: Members {
        func url(_ endpoint: MisbehavingProvider.Endpoint) -> String { origin + endpoint.rawValue }
        var members: Members = [
            "issuer": issuer, "authorization_endpoint": url(.authorization), "token_endpoint": url(.token),
            "jwks_uri": url(.keys), "userinfo_endpoint": url(.userinfo), "revocation_endpoint": url(.revocation),
            "registration_endpoint": url(.registration), "end_session_endpoint": url(.endSession),
            "device_authorization_endpoint": url(.device), "code_challenge_methods_supported": ["S256"],
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [signer.algorithm],
            "authorization_response_iss_parameter_supported": true,
        ]
        if features.pushesRequests { members["pushed_authorization_request_endpoint"] = url(.pushedAuthorization) }
        if features.bindsTokens { members["dpop_signing_alg_values_supported"] = ["ES256"] }
        return members
    }

    // MARK: Authorization (RFC 6749 section 4.1, RFC 7636, RFC 9126, RFC 9207)

    private mutating func push(_ index: Int, at now: Date) throws -> HTTPAnswer {
        var parameters = log[index].parameters
        guard features.pushesRequests, parameters["request_uri"] == nil, isSound(parameters) else {
            return refusal("invalid_request")
        }
        if log[index].request.field("DPoP") != nil {
            switch checkProof(log[index].request, at: now, accessToken: nil) {
            case .refused(let answer): return answer
            case .proved(let thumbprint): parameters["dpop_jkt"] = thumbprint
            }
        }
        let reference = issue("urn:ietf:params:oauth:request_uri:par")
        pushed[reference] = parameters
        return try answer(
            index, ["request_uri": reference, "expires_in": 60], altered: alterations.push, status: 201)
    }

    private mutating func authorize(_ index: Int) throws -> HTTPAnswer {
        var parameters = log[index].parameters
        if let reference = parameters["request_uri"] {
            // A pushed request works once, and only if the client adds no other parameters.
            guard let pushed = pushed.removeValue(forKey: reference), pushed["client_id"] == parameters["client_id"],
                parameters.count == 2
            else { return .text("no such request", status: 400) }
            parameters = pushed
        }
        guard isSound(parameters), let redirectURI = parameters["redirect_uri"] else {
            return .text("the authorization request is wrong", status: 400)
        }
        let code = issue("code")
        grants[code] = MisbehavingProvider.Grant(
            kind: .code, clientID: parameters["client_id"] ?? "", scopes: parameters["scope"] ?? "",
            nonce: parameters["nonce"], redirectURI: redirectURI, challenge: parameters["code_challenge"],
            thumbprint: parameters["dpop_jkt"])
        var redirect = [("code", code), ("state", parameters["state"] ?? ""), ("iss", issuer)]
            .map { (name: $0.0, value: $0.1) }
        if let change = alterations.redirect {
            change(&redirect)
            log[index].isAltered = true
        }
        var answer = HTTPAnswer.text("", status: 302)
        answer.headerFields[.location] = redirectURI + "?" + FormParameters.encode(redirect)
        return answer
    }

    private func isSound(_ parameters: [String: String]) -> Bool {
        let texts = ["state", "nonce", "code_challenge"].compactMap { parameters[$0] }
        return parameters["response_type"] == "code" && clients.keys.contains(parameters["client_id"] ?? "")
            && parameters["redirect_uri"]?.hasPrefix("http://127.0.0.1:") == true
            && parameters["scope"]?.split(separator: " ").contains("openid") == true
            && texts.allSatisfy { $0.utf8.count >= 43 } && Set(texts).count == 3
            && parameters["code_challenge_method"] == "S256"
    }
}
