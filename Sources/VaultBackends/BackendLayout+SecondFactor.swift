internal import VaultBase

extension BackendLayout {
    /// The second factor of a backend: how its answer to e-mail address and password asks for a code, and where the code
    /// goes.
    public struct SecondFactor: Sendable, Codable, Hashable {
        /// The HTTP status of the answer that asks for a code. nil: any status.
        public var status: Int?
        /// The field of that answer that asks for the code.
        public var field = "error"
        /// The text in ``field``. Empty: any value but `false` and `null`.
        public var value = "mfa_required"
        /// `POST`: exchanges the code for tokens. Empty: the path of the login takes the code, with the e-mail address
        /// and the password.
        public var path = ""
        /// The name of the code in the request.
        public var code = "code"
        /// A field of the answer that goes into the request with the code, under the same name. If the answer does not
        /// have it, nothing is added.
        public var ticket = "mfa_token"

        /// Makes the layout with its usual values.
        public init() {}

        public init(from decoder: any Decoder) throws {
            let members = try decoder.layout(keyedBy: CodingKeys.self)
            try members.read(.status, into: &status)
            try members.read(.field, into: &field)
            try members.read(.value, into: &value)
            try members.read(.path, into: &path)
            try members.read(.code, into: &code)
            try members.read(.ticket, into: &ticket)
        }

        /// Whether an answer asks for a code.
        func isAsked(_ status: Int, _ answer: JSONValue) -> Bool {
            guard self.status == nil || self.status == status, let found = answer[field: field] else { return false }
            guard !value.isEmpty else { return found != .bool(false) }
            return found.string == value || found.exactInteger == value
        }
    }
}
