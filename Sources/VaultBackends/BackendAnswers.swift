internal import OpenIDConnect
internal import VaultBase
internal import VaultStorage

/// The person that an answer is about.
struct BackendUser: Sendable {
    let id: String
    let identity: SignInResult.Identity

    init(_ answer: JSONValue, _ fields: BackendLayout.User) throws {
        let object = answer[path: fields.object].flatMap { $0.isObject ? $0 : nil } ?? answer
        let alternative = fields.alternativeID.isEmpty ? nil : object[path: fields.alternativeID]
        guard let id = object[path: fields.id]?.identifier ?? alternative?.identifier else {
            throw OpenIDConnectError(.invalidAnswer, "it has no identifier of the person")
        }
        self.id = id
        let name = object[path: fields.fullName]?.string
        var claims = object
        // The stored claims of every account have the name in this member.
        if let name, claims["name"] == nil { claims.set(.string(name), at: "name") }
        identity = .init(
            email: object[path: fields.email]?.string, preferredUsername: object[path: fields.username]?.string,
            name: name, claimsJSON: claims.encoded())
    }

    /// A person who is known only from the claims of an access token.
    ///
    /// Only the backend can check these claims. Trust them only as much as the backend that sent the token over this
    /// connection. Use them only for decisions that this backend could also make itself.
    init?(claims: JSONValue) {
        guard let subject = claims["sub"]?.identifier else { return nil }
        id = subject
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

extension JSONValue {
    var isObject: Bool { if case .object = self { true } else { false } }

    /// The identifier of a person: a text without control characters, or a whole number as digits.
    var identifier: String? {
        if number != nil { return exactInteger }
        guard let string, !string.isEmpty, string.utf8.count <= 255,
            string.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        return string
    }
}
