internal import FoundationEssentials

/// A request to the backend.
struct BackendCall: Sendable {
    var method: String
    /// The header `Authorization`.
    var authorization: String?
    /// The headers `DPoP`.
    var proofs: [String]
    /// The path without the query.
    var path: String
    var query: FormParameters?
    /// The form; nil if the body is not a form.
    var form: FormParameters?
    /// The JSON body; nil for another content type.
    var json: Data?

    /// Decodes the body.
    /// - Parameter isSnakeCase: Whether its members are spelled `refresh_token`, and not `refreshToken`.
    func body<Body: Decodable>(_ type: Body.Type, isSnakeCase: Bool = true) throws(BackendError) -> Body {
        let decoder = JSONDecoder()
        if isSnakeCase { decoder.keyDecodingStrategy = .convertFromSnakeCase }
        guard let json, let body = try? decoder.decode(type, from: json) else {
            throw .invalidRequest("The body is not the expected JSON.")
        }
        return body
    }

    /// The token after `Bearer`; nil for another scheme.
    var bearer: String? {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else { return nil }
        return String(authorization.dropFirst(7))
    }

    /// The scheme before the token.
    var scheme: String? { authorization.map { String($0.prefix { $0 != " " }) } }
}

/// The backend's answer, with its entry for the log.
struct BackendAnswer: Sendable {
    enum Content: Sendable {
        case json(Data)
        /// An HTML page, and the allowed target of its form.
        case page(String, formTarget: String)
        case redirect(String)
        case none
    }

    var status = 200
    var content = Content.none
    var headers: [String: String] = [:]
    var outcome = BackendRequest.Outcome.ok
    var username: String?
    var grantType: String?
    var presentedGeneration: Int?
    var issuedGeneration: Int?

    static func json(
        _ value: some Encodable, status: Int = 200, username: String? = nil, isSnakeCase: Bool = true
    ) throws -> BackendAnswer {
        BackendAnswer(
            status: status, content: .json(try protocolJSON(value, isSnakeCase: isSnakeCase)), username: username)
    }
}

/// The backend's refusal, for the app: `{"error": "…"}`, or with its code for a program.
struct BackendError: Error {
    /// The text for a person, without secrets.
    var message: String
    var status: Int
    var outcome: BackendRequest.Outcome
    /// OAuth's own form of an error: the code is `error`, and the message is `error_description`.
    var oauthCode: String?
    var retryAfter: Int?
    /// The header `WWW-Authenticate`, with 401.
    var challenge = #"Bearer realm="backend""#
    /// The header `DPoP-Nonce`.
    var nonce: String?
    var username: String?
    var presentedGeneration: Int?

    init(_ message: String, status: Int, outcome: String, username: String? = nil) {
        self.message = message
        self.status = status
        self.outcome = .init(rawValue: outcome)
        self.username = username
    }

    static func invalidRequest(_ message: String) -> BackendError {
        BackendError(message, status: 400, outcome: "invalid_request")
    }

    static let invalidToken = BackendError("The access token is not valid.", status: 401, outcome: "invalid_token")

    static let noSuchPage = BackendError("There is no such page.", status: 404, outcome: "not_found")

    static func oauth(_ code: String, _ message: String, status: Int = 400) -> BackendError {
        var error = BackendError(message, status: status, outcome: code)
        error.oauthCode = code
        return error
    }

    /// Returns the answer to the app.
    func answer(at endpoint: BackendRequest.Endpoint) -> BackendAnswer {
        var fields = oauthCode.map { ["error": $0, "error_description": message] } ?? ["error": message]
        if endpoint.isOfPasswords { fields = ["error": outcome.rawValue, "message": message] }
        var answer = BackendAnswer(status: status, outcome: outcome, username: username)
        answer.content = .json((try? JSONEncoder().encode(fields)) ?? Data())
        if status == 401 { answer.headers["WWW-Authenticate"] = challenge }
        answer.headers["DPoP-Nonce"] = nonce
        if let retryAfter { answer.headers["Retry-After"] = String(retryAfter) }
        answer.presentedGeneration = presentedGeneration
        return answer
    }
}
