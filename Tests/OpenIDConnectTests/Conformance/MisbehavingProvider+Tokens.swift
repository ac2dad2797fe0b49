import Foundation
import HTTPTypes
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

/// The tokens that the provider gives out, and the codes and tokens that it accepts.
extension MisbehavingProvider.State {
    private typealias Grant = MisbehavingProvider.Grant

    // MARK: The token endpoint (RFC 6749 sections 4.1.3 and 6, RFC 8628 section 3.4, RFC 9449 section 5)

    mutating func giveTokens(_ index: Int, at now: Date) throws -> HTTPAnswer {
        let (request, form) = (log[index].request, log[index].parameters)
        guard let clientID = authenticatedClient(request, form) else { return refusal("invalid_client", status: 401) }
        var thumbprint: String?
        if features.bindsTokens, request.field("DPoP") != nil {
            switch checkProof(request, at: now, accessToken: nil) {
            case .refused(let answer): return answer
            case .proved(let proved): thumbprint = proved
            }
        }
        let secret: String
        let kind: Grant.Kind
        switch form["grant_type"] {
        case "authorization_code": (secret, kind) = (form["code"] ?? "", .code)
        case "refresh_token": (secret, kind) = (form["refresh_token"] ?? "", .refresh)
        case "urn:ietf:params:oauth:grant-type:device_code":
            (secret, kind) = (form["device_code"] ?? "", .device)
            if grants[secret] != nil, let error = deviceAnswers.isEmpty ? nil : deviceAnswers.removeFirst() {
                return refusal(error)
            }
        default: return refusal("unsupported_grant_type")
        }
        // No secret works twice, even if this request fails.
        guard let grant = grants.removeValue(forKey: secret), grant.kind == kind, grant.clientID == clientID,
            grant.redirectURI == form["redirect_uri"],
            grant.challenge == form["code_verifier"].map(AuthorizationRequest.challenge(for:)),
            grant.thumbprint == nil || grant.thumbprint == thumbprint
        else { return refusal("invalid_grant") }
        return try tokens(index, for: grant, thumbprint: thumbprint, at: now)
    }

    private mutating func tokens(_ index: Int, for grant: Grant, thumbprint: String?, at now: Date) throws -> HTTPAnswer
    {
        let (accessToken, refreshToken) = (issue("access"), issue("refresh"))
        for (token, kind) in [(accessToken, Grant.Kind.access), (refreshToken, .refresh)] {
            grants[token] = Grant(kind: kind, clientID: grant.clientID, scopes: grant.scopes, thumbprint: thumbprint)
        }
        let seconds = now.timeIntervalSince1970
        var draft = draft
        draft.claims = [
            "iss": issuer, "sub": MisbehavingProvider.subject, "aud": grant.clientID, "exp": seconds + 300,
            "iat": seconds, "at_hash": draft.hash(of: accessToken),
        ]
        draft.claims["nonce"] = grant.nonce
        if let change = alterations.idToken {
            try change(&draft)
            log[index].isAltered = true
        }
        let idToken = try draft.token()
        // A short string is no token, and may occur in any text by chance.
        if idToken.utf8.count > 64 { issued.insert(idToken) }
        var members: Members = [
            "access_token": accessToken, "token_type": thumbprint == nil ? "Bearer" : "DPoP", "expires_in": 300,
            "refresh_token": refreshToken, "id_token": idToken, "scope": grant.scopes,
        ]
        if let change = alterations.tokens {
            change(&members)
            log[index].isAltered = true
        }
        log[index].refreshToken = members["refresh_token"] as? String
        return try answer(index, members, altered: nil)
    }

    private var draft: IDTokenDraft {
        var draft = IDTokenDraft(key: signer, header: ["alg": signer.algorithm, "typ": "JWT"], claims: [:])
        draft.header["kid"] = signer.jwk["kid"]
        return draft
    }

    /// The client of a request that may be its own (RFC 6749 section 2.3.1).
    private func authenticatedClient(_ request: LoopbackServer.Request, _ form: [String: String]) -> String? {
        var (clientID, secret) = (form["client_id"], form["client_secret"])
        if let field = request.field("Authorization") {
            guard field.hasPrefix("Basic "), let data = Data(base64Encoded: String(field.dropFirst(6))), secret == nil
            else { return nil }
            let parts = String(decoding: data, as: UTF8.self).split(separator: ":", omittingEmptySubsequences: false)
                .map { MisbehavingProvider.parameters("v=" + $0)["v"] ?? "" }
            guard parts.count == 2, clientID == nil || clientID == parts[0] else { return nil }
            (clientID, secret) = (parts[0], parts[1])
        }
        guard let clientID, let expected = clients[clientID], expected == secret else { return nil }
        return clientID
    }

    // MARK: Userinfo (OpenID Connect Core section 5.3, RFC 6750, RFC 9449 section 7)

    mutating func userinfo(_ index: Int, at now: Date) throws -> HTTPAnswer {
        let request = log[index].request
        let words = (request.field("Authorization") ?? "").split(separator: " ", maxSplits: 1).map(String.init)
        guard words.count == 2, let grant = grants[words[1]], grant.kind == .access,
            words[0] == (grant.thumbprint == nil ? "Bearer" : "DPoP")
        else { return challenge("Bearer error=\"invalid_token\"") }
        if let thumbprint = grant.thumbprint {
            switch checkProof(request, at: now, accessToken: words[1]) {
            case .proved(thumbprint): break
            case .proved: return challenge("DPoP error=\"invalid_token\"")
            case .refused(let answer):
                var answer = answer
                let error = answer.headerFields[Self.nonceField] == nil ? "invalid_dpop_proof" : "use_dpop_nonce"
                answer.status = .unauthorized
                answer.headerFields[.wwwAuthenticate] = "\(features.proofScheme) error=\"\(error)\""
                return answer
            }
        }
        let scopes = Set(grant.scopes.split(separator: " "))
        var claims: Members = ["sub": MisbehavingProvider.subject]
        if scopes.contains("profile") {
            claims["name"] = "Alice"
            claims["preferred_username"] = "al"
        }
        if scopes.contains("email") { claims["email"] = "alice@id.example" }
        guard features.signsUserinfo else { return try answer(index, claims, altered: alterations.userinfo) }
        var draft = draft
        draft.claims = claims.merging(["iss": issuer, "aud": grant.clientID]) { $1 }
        if let change = alterations.signedUserinfo {
            try change(&draft)
            log[index].isAltered = true
        }
        var answer = HTTPAnswer.text(try draft.token())
        answer.headerFields[.contentType] = "application/jwt"
        return answer
    }

    private func challenge(_ value: String) -> HTTPAnswer {
        var answer = HTTPAnswer.text("", status: 401)
        answer.headerFields[.wwwAuthenticate] = value
        return answer
    }

    // MARK: Devices (RFC 8628 section 3.2) and registration (RFC 7591 section 3)

    mutating func authorizeDevice(_ index: Int) throws -> HTTPAnswer {
        let form = log[index].parameters
        guard let clientID = authenticatedClient(log[index].request, form) else {
            return refusal("invalid_client", status: 401)
        }
        let code = issue("device")
        grants[code] = Grant(kind: .device, clientID: clientID, scopes: form["scope"] ?? "")
        return try answer(
            index,
            [
                "device_code": code, "user_code": "WDJB-MJHT", "verification_uri": issuer + "/activate",
                "expires_in": 600, "interval": 5,
            ], altered: alterations.device)
    }

    mutating func register(_ index: Int) throws -> HTTPAnswer {
        guard let client = JSONValue(objectIn: Array(log[index].request.body.utf8)), client["redirect_uris"] != nil
        else {
            return refusal("invalid_client_metadata")
        }
        let (clientID, secret) = ("client-" + RandomText.make(), features.givesSecrets ? issue("secret/+ ") : nil)
        clients[clientID] = .some(secret)
        var members: Members = [
            "client_id": clientID, "redirect_uris": client["redirect_uris"]?.strings ?? [],
            "token_endpoint_auth_method": secret == nil ? "none" : "client_secret_basic",
        ]
        members["client_secret"] = secret
        if secret != nil { members["client_secret_expires_at"] = 0 }
        return try answer(index, members, altered: alterations.registration, status: 201)
    }
}
