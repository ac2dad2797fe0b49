extension BackendLayout {
    /// The list of a person's active sessions at a backend. Each call carries the person's access token.
    public struct Sessions: Sendable, Codable, Hashable {
        /// `GET`: the sessions.
        public var list = "/auth/sessions"
        /// `DELETE`: ends a session. The identifier of the session replaces `{id}`. Empty: no session can be ended.
        public var end = "/auth/sessions/{id}"

        /// The list in the answer of ``list``.
        public var items = "sessions"
        /// The identifier of a session for ``end``: a text, or a whole number.
        public var id = "id"
        /// The name that the person knows: a device or a program.
        public var name = "name"
        /// A time as in RFC 3339, or in seconds since 1970.
        public var createdAt = "created_at"
        /// A time as in RFC 3339, or in seconds since 1970.
        public var lastUsedAt = "last_used_at"
        /// True for the session whose access token the request carries.
        public var isCurrent = "current"

        /// Makes the layout with its usual values.
        public init() {}

        public init(from decoder: any Decoder) throws {
            let members = try decoder.layout(keyedBy: CodingKeys.self)
            try members.read(.list, into: &list)
            try members.read(.end, into: &end)
            try members.read(.items, into: &items)
            try members.read(.id, into: &id)
            try members.read(.name, into: &name)
            try members.read(.createdAt, into: &createdAt)
            try members.read(.lastUsedAt, into: &lastUsedAt)
            try members.read(.isCurrent, into: &isCurrent)
        }
    }
}
