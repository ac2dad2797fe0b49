extension BackendLayout {
    /// The layout of a backend that handles the protocol of its identity provider itself.
    public struct Browser: Sendable, Codable, Hashable {
        /// The path of the login page for the browser.
        public var login = "/auth/login"
        /// `POST`: exchanges the code from the redirect for an access token.
        public var token = "/auth/token"
        /// `GET`: the person of the access token, or a refusal if the token is not valid any more.
        public var me = "/auth/me"
        /// `POST`: ends the access token.
        public var logout = "/auth/logout"

        /// In the redirect, and in the request to ``token``.
        public var code = "code"
        /// In the redirect, and in the request to ``token``.
        public var state = "state"
        /// In the address of the login page, and in the request to ``token``.
        public var redirectURI = "redirect_uri"
        /// `POST` with the access token: tells the backend that the person logged out on this machine. The backend
        /// should keep the stored token valid, or the person has to register again. nil: the backend is not told.
        public var localLogout: String?
        /// nil: the backend has no list of a person's sessions.
        public var sessions: Sessions?
        /// The fields of the answer of ``token``.
        public var tokens = Tokens()
        /// The fields of the answers of ``token`` and ``me``.
        public var user = User()

        /// Makes the layout with its usual values.
        public init() {}

        public init(from decoder: any Decoder) throws {
            let members = try decoder.layout(keyedBy: CodingKeys.self)
            try members.read(.login, into: &login)
            try members.read(.token, into: &token)
            try members.read(.me, into: &me)
            try members.read(.logout, into: &logout)
            try members.read(.code, into: &code)
            try members.read(.state, into: &state)
            try members.read(.redirectURI, into: &redirectURI)
            try members.read(.localLogout, into: &localLogout)
            try members.read(.sessions, into: &sessions)
            try members.read(.tokens, into: &tokens)
            try members.read(.user, into: &user)
        }
    }
}
