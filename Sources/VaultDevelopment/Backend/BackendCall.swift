internal import FoundationEssentials

/// A request as the backend's parts see it.
struct BackendCall: Sendable {
    var method: String
    /// The header `Authorization`.
    var authorization: String?
    /// The headers `DPoP`.
    var proofs: [String]
    /// Without the query.
    var path: String
    var query: FormParameters?
    /// nil when the body is not a form.
    var form: FormParameters?
    /// nil when the body does not say that it is JSON.
    var json: Data?

    /// The body's members that `Body` knows.
    func body<Body: Decodable>(_ type: Body.Type) throws(BackendError) -> Body {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let json, let body = try? decoder.decode(type, from: json) else {
            throw .invalidRequest("The body is not the JSON that is expected here.")
        }
        return body
    }

    /// What follows `Bearer`; nil when that is not what the header says.
    var bearer: String? {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else { return nil }
        return String(authorization.dropFirst(7))
    }

    /// What comes before the token.
    var scheme: String? { authorization.map { String($0.prefix { $0 != " " }) } }
}

/// What the backend answers, and what its log says about that.
struct BackendAnswer: Sendable {
    enum Content: Sendable {
        case json(Data)
        /// HTML, and where its form may lead.
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

    static func json(_ value: some Encodable, status: Int = 200, username: String? = nil) throws -> BackendAnswer {
        BackendAnswer(status: status, content: .json(try protocolJSON(value)), username: username)
    }
}

/// Why the backend refuses, as the app is told: `{"error": "…"}`.
struct BackendError: Error {
    /// For a person; never holds a secret.
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

    static func oauth(_ code: String, _ message: String, status: Int = 400) -> BackendError {
        var error = BackendError(message, status: status, outcome: code)
        error.oauthCode = code
        return error
    }

    /// The answer to the app.
    var answer: BackendAnswer {
        let fields = oauthCode.map { ["error": $0, "error_description": message] } ?? ["error": message]
        var answer = BackendAnswer(status: status, outcome: outcome, username: username)
        answer.content = .json((try? JSONEncoder().encode(fields)) ?? Data())
        if status == 401 { answer.headers["WWW-Authenticate"] = challenge }
        answer.headers["DPoP-Nonce"] = nonce
        if let retryAfter { answer.headers["Retry-After"] = String(retryAfter) }
        answer.presentedGeneration = presentedGeneration
        return answer
    }
}
