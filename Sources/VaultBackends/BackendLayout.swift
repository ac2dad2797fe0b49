internal import OpenIDConnect

/// The paths and field names of backends other than OpenID providers, with their usual values.
///
/// Paths are below the backend's base URL. An empty path means that the backend has no such call. Fields are members of
/// JSON objects, also nested ones: `data.user.id`. In the answers of a backend of the kinds ``browser`` and ``password``,
/// the field `access_token` is also found as `accessToken`, and the other way round. JSON needs only the members that
/// differ. An unknown member is an error, so spelling mistakes are noticed.
public struct BackendLayout: Sendable, Codable, Hashable {
    /// The layout of a backend in front of an identity provider, for ``BackendSignIn``.
    public var browser = Browser()
    /// The layout of a backend with its own user names and passwords, for ``PasswordSignIn``.
    public var password = Password()
    /// The layout of a server that announces its abilities, for ``ServerSignIn``.
    public var server = Server()

    /// Makes the layout with its usual values.
    public init() {}

    public init(from decoder: any Decoder) throws {
        let members = try decoder.layout(keyedBy: CodingKeys.self)
        try members.read(.browser, into: &browser)
        try members.read(.password, into: &password)
        try members.read(.server, into: &server)
    }

    /// The places of the tokens in an answer (RFC 6749 section 5.1).
    public struct Tokens: Sendable, Codable, Hashable {
        /// The field of the access token.
        public var accessToken = "access_token"
        /// The field of the token's type: `Bearer`.
        public var tokenType = "token_type"
        /// In seconds.
        public var expiresIn = "expires_in"
        /// If there is no ``expiresIn``: the time at which the access token ends, as in RFC 3339 or in seconds since 1970.
        public var expiresAt = "expires_at"
        /// The field of the refresh token.
        public var refreshToken = "refresh_token"
        /// The field of the granted scopes, separated by spaces.
        public var scope = "scope"

        /// Makes the fields with the names of RFC 6749.
        public init() {}

        var fields: TokenAnswer.Fields {
            var fields = TokenAnswer.Fields()
            fields.accessToken = accessToken
            fields.tokenType = tokenType
            fields.expiresIn = expiresIn
            fields.refreshToken = refreshToken
            fields.scope = scope
            return fields
        }

        public init(from decoder: any Decoder) throws {
            let members = try decoder.layout(keyedBy: CodingKeys.self)
            try members.read(.accessToken, into: &accessToken)
            try members.read(.tokenType, into: &tokenType)
            try members.read(.expiresIn, into: &expiresIn)
            try members.read(.expiresAt, into: &expiresAt)
            try members.read(.refreshToken, into: &refreshToken)
            try members.read(.scope, into: &scope)
        }
    }

    /// The places of a person's details in an answer.
    public struct User: Sendable, Codable, Hashable {
        /// The object with the other members. If it is missing, they are read from the answer itself.
        public var object = "user"
        /// The permanent identifier of the person: a text, or a whole number.
        public var id = "id"
        /// The member that replaces ``id`` at backends that have only names; empty for none.
        public var alternativeID = "username"
        /// The field of the person's user name.
        public var username = "username"
        /// The field of the person's full name.
        public var fullName = "fullName"
        /// The field of the person's e-mail address.
        public var email = "email"

        /// Makes the fields with their usual names.
        public init() {}

        public init(from decoder: any Decoder) throws {
            let members = try decoder.layout(keyedBy: CodingKeys.self)
            try members.read(.object, into: &object)
            try members.read(.id, into: &id)
            try members.read(.alternativeID, into: &alternativeID)
            try members.read(.username, into: &username)
            try members.read(.fullName, into: &fullName)
            try members.read(.email, into: &email)
        }
    }
}

extension Decoder {
    /// Returns the members of a layout. Throws if one is unknown.
    func layout<K: CodingKey>(keyedBy type: K.Type) throws -> KeyedDecodingContainer<K> {
        let names = try container(keyedBy: AnyKey.self).allKeys.map(\.stringValue)
        if let unknown = names.first(where: { K(stringValue: $0) == nil }) {
            throw DecodingError.dataCorrupted(
                .init(codingPath: codingPath, debugDescription: "The member \"\(unknown)\" is unknown."))
        }
        return try container(keyedBy: type)
    }
}

extension KeyedDecodingContainer {
    /// Replaces the default if the member is there.
    func read<T: Decodable>(_ key: Key, into value: inout T) throws {
        if let found = try decodeIfPresent(T.self, forKey: key) { value = found }
    }
}

/// The name of any member.
private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
