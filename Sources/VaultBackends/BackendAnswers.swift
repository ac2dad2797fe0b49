internal import Foundation
internal import OpenIDConnect
internal import VaultBase
internal import VaultStorage

/// The person that an answer is about.
struct BackendUser: Sendable {
    let id: String
    let identity: SignInResult.Identity

    /// The person in an answer that is only about a person.
    ///
    /// - Throws: ``OpenIDConnectError`` if the answer has no identifier of the person.
    init(_ answer: JSONValue, _ fields: BackendLayout.User) throws {
        let object = answer.object(at: fields.object) ?? answer
        guard let id = object.identifier(at: [fields.id, fields.alternativeID]) else {
            throw OpenIDConnectError(.invalidAnswer, "it has no identifier of the person")
        }
        self.init(id, object, fields)
    }

    /// The person in an answer that also has tokens, at a place of its own or among them. Nil if the answer names
    /// nobody.
    init?(besideTokens answer: JSONValue, _ fields: BackendLayout.User) {
        let object = answer.object(at: fields.object)
        guard let id = (object ?? answer).identifier(at: [fields.id, fields.alternativeID]) else { return nil }
        self.init(id, object ?? answer, fields, keepsAll: object != nil)
    }

    /// - Parameter keepsAll: whether the claims have all members of `details`. Otherwise they have only the members that
    ///   the layout names, because the others may be secret.
    init(_ id: String, _ details: JSONValue, _ fields: BackendLayout.User, keepsAll: Bool = true) {
        self.id = id
        let name = details[field: fields.fullName]?.string
        let email = details[field: fields.email]?.string
        let username = details[field: fields.username]?.string
        var claims = details
        if !keepsAll {
            claims = .object(["id": .string(id)])
            for (member, text) in [("email", email), ("username", username)] {
                if let text { claims.set(.string(text), at: member) }
            }
        }
        // The stored claims of every account have the name in this member.
        if let name, claims["name"] == nil { claims.set(.string(name), at: "name") }
        identity = .init(email: email, preferredUsername: username, name: name, claimsJSON: claims.encoded())
    }

    /// A person who is known only from the claims of an access token.
    ///
    /// Only the backend can check these claims. Trust them only as much as the backend that sent the token over this
    /// connection. Use them only for decisions that this backend could also make itself.
    ///
    /// - Parameter subject: the claim with the identifier of the person.
    init?(claims: JSONValue, subject: String) {
        guard let id = claims[path: subject]?.identifier else { return nil }
        self.id = id
        identity = .init(
            email: claims["email"]?.string, preferredUsername: claims["preferred_username"]?.string,
            name: claims["name"]?.string, claimsJSON: claims.encoded())
    }

    /// - Throws: ``OpenIDConnectError`` if the person is another one.
    func require(_ account: AccountID, mayHaveBeenProcessed: Bool = false) throws {
        guard id == account.subject else {
            throw OpenIDConnectError(
                .userInfoInvalid, "it is about another person", mayHaveBeenProcessed: mayHaveBeenProcessed)
        }
    }
}

extension UserInfo {
    init(_ user: BackendUser) {
        self.init(
            subject: user.id, email: user.identity.email, preferredUsername: user.identity.preferredUsername,
            name: user.identity.name, claimsJSON: user.identity.claimsJSON)
    }
}

extension BackendLayout.Tokens {
    /// Finds the tokens in an answer.
    ///
    /// - Parameter sentAt: the time of the request. The lifetime of the access token starts then.
    func tokens(in answer: JSONValue, sentAt: Date) -> TokenAnswer {
        var members: [(path: String, value: JSONValue)] = []
        for (name, field) in [
            ("access_token", accessToken), ("token_type", tokenType), ("expires_in", expiresIn),
            ("refresh_token", refreshToken), ("scope", scope),
        ] {
            if let value = answer[field: field] { members.append((name, value)) }
        }
        if Lifetime.end(in: answer[field: expiresIn], from: sentAt) == nil, let end = answer[field: expiresAt]?.time {
            members.append(("expires_in", .number(end.timeIntervalSince(sentAt))))
        }
        return TokenAnswer(JSONValue(members), sentAt: sentAt)
    }

    /// Finds the tokens in the answer to a sign-in.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` if there is no access token where the layout says so.
    ///   ``OpenIDConnectError`` if this program cannot use it.
    func signedIn(in answer: JSONValue, sentAt: Date, call: String) throws -> TokenAnswer {
        let tokens = tokens(in: answer, sentAt: sentAt)
        guard !tokens.accessToken.isEmpty else {
            throw VaultError.missing("access token", accessToken, in: call)
        }
        return try tokens.usable()
    }
}

extension VaultError {
    /// The error of an answer to a sign-in that lacks something where the layout says it is.
    static func missing(_ thing: String, _ field: String, in call: String) -> VaultError {
        VaultError(
            .configurationInvalid, "The backend's answer to \(call) has no \(thing) in the field \"\(field)\".",
            detail: .fieldMissing, value: field)
    }
}
