internal import Foundation
internal import OpenIDConnect
internal import VaultAuth
internal import VaultJSON
internal import VaultStorage

/// The tokens in an answer. It does not print them.
struct BackendTokens: Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    let accessToken: String
    /// nil when it is not known.
    let expiresAt: Date?
    let refreshToken: String?
    let scope: String?

    /// - Parameter sentAt: when the request was sent, from which the access token's time counts.
    init(_ answer: JSONValue, _ fields: BackendLayout.Tokens, sentAt: Date) throws {
        guard let accessToken = Self.token(answer, fields.accessToken) else {
            throw OpenIDConnectError(.invalidAnswer, "it has no access token", mayHaveBeenProcessed: true)
        }
        if let type = answer[path: fields.tokenType]?.string, type.lowercased() != "bearer" {
            throw OpenIDConnectError(.unsupported, "access tokens of this type", mayHaveBeenProcessed: true)
        }
        self.accessToken = accessToken
        expiresAt = Self.expiry(answer[path: fields.expiresIn], from: sentAt)
        refreshToken = Self.token(answer, fields.refreshToken)
        scope = answer[path: fields.scope]?.string
    }

    var description: String { "BackendTokens(\(scope ?? ""))" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["expiresAt": expiresAt as Any, "scope": scope as Any]) }

    /// Whether the answer has any token at all. A new refresh token counts whatever the rest is like.
    static func areIn(_ answer: JSONValue, _ fields: BackendLayout.Tokens) -> Bool {
        token(answer, fields.refreshToken) != nil || token(answer, fields.accessToken) != nil
    }

    /// A token that can be put into a header field: printable ASCII without blanks (RFC 6750 section 2.1).
    static func token(_ answer: JSONValue, _ path: String) -> String? {
        guard let text = answer[path: path]?.string, !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return text
    }

    /// A number of seconds, or one in quotes. What makes no sense is not known: below zero it is over already, and for
    /// more than a century nothing is issued.
    private static func expiry(_ value: JSONValue?, from sentAt: Date) -> Date? {
        guard let seconds = value?.number ?? value?.string.flatMap(Double.init), seconds.isFinite,
            seconds < 100 * 365 * 86_400
        else { return nil }
        return sentAt.addingTimeInterval(max(0, seconds))
    }
}

/// Whom an answer is about.
struct BackendUser: Sendable {
    let id: String
    let identity: RefreshToken.Identity

    init(_ answer: JSONValue, _ fields: BackendLayout.User) throws {
        let object = answer[path: fields.object].flatMap { $0.isObject ? $0 : nil } ?? answer
        let alternative = fields.alternativeID.isEmpty ? nil : object[path: fields.alternativeID]
        guard let id = object[path: fields.id]?.identifier ?? alternative?.identifier else {
            throw OpenIDConnectError(.invalidAnswer, "it does not say who that is")
        }
        self.id = id
        let name = object[path: fields.fullName]?.string
        var claims = object
        // Where the stored claims of every account have it.
        if let name, claims["name"] == nil { claims.set(.string(name), at: ["name"]) }
        identity = .init(
            email: object[path: fields.email]?.string, preferredUsername: object[path: fields.username]?.string,
            name: name, claimsJSON: claims.encoded())
    }

    /// Somebody of whom nothing is known but what an access token says.
    init?(_ claims: UnverifiedClaims) {
        guard let subject = claims.subject else { return nil }
        id = subject
        identity = .init(
            email: claims.json["email"]?.string, preferredUsername: claims.json["preferred_username"]?.string,
            name: claims.json["name"]?.string, claimsJSON: claims.json.encoded())
    }

    /// - Throws: ``OpenIDConnectError`` when it is somebody else.
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

/// What a JSON Web Token says (RFC 7519). Only the backend has the key to check that: it may be believed as far as the
/// backend is that sent it over this very connection, and decides nothing that the backend itself would not.
struct UnverifiedClaims: Sendable {
    let json: JSONValue

    /// nil when the token is an opaque one.
    init?(_ token: String?) {
        let parts = token?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]), let json = JSONValue(objectIn: payload) else {
            return nil
        }
        self.json = json
    }

    var subject: String? { json["sub"]?.identifier }

    var expiresAt: Date? {
        // What is before 1970, or after the year 3000, is a mistake, or milliseconds.
        json["exp"]?.number.flatMap { (0..<32_503_680_000).contains($0) ? Date(timeIntervalSince1970: $0) : nil }
    }
}

extension JSONValue {
    /// An object with these values at dotted paths.
    init(_ members: [(path: String, value: JSONValue)]) {
        self = .object([:])
        for (path, value) in members { set(value, at: path.split(separator: ".")[...]) }
    }

    /// What is at a dotted path such as `user.id`; nil when it is missing or null.
    subscript(path path: String) -> JSONValue? {
        guard !path.isEmpty else { return nil }
        return path.split(separator: ".").reduce(JSONValue?.some(self)) { $0?[String($1)] }
    }

    var isObject: Bool { if case .object = self { true } else { false } }

    /// What can name a person: a text without control characters, or a whole number, digit by digit.
    var identifier: String? {
        if number != nil { return exactInteger }
        guard let string, !string.isEmpty, string.utf8.count <= 255,
            string.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        return string
    }

    fileprivate mutating func set(_ value: JSONValue, at path: ArraySlice<Substring>) {
        guard let name = path.first.map(String.init) else {
            self = value
            return
        }
        var members = if case .object(let known) = self { known } else { [String: JSONValue]() }
        members[name, default: .object([:])].set(value, at: path.dropFirst())
        self = .object(members)
    }
}
