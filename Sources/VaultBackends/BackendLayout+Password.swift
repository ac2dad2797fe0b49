extension BackendLayout {
    /// The layout of a backend that takes e-mail address and password, and issues refresh tokens.
    public struct Password: Sendable, Codable, Hashable {
        /// `POST`: exchanges e-mail address and password for tokens.
        public var login = "/auth/login"
        /// `GET`: the person of the access token. If empty, or if the answer is 404, the claims of the access token
        /// name the person.
        public var me = "/auth/me"
        /// `POST`: exchanges a refresh token for new tokens.
        public var refresh = "/auth/refresh"
        /// `POST`: ends the refresh token.
        public var logout = "/auth/logout"

        /// `POST`: makes an account from e-mail address, password and, as ``User/fullName``, the full name. nil: the
        /// backend has no such call.
        public var signUp: String?
        /// `POST`: the e-mail address of a person with a forgotten password. nil: the backend has no such call.
        public var forgotPassword: String?

        /// In the requests to ``login``, ``signUp`` and ``forgotPassword``.
        public var email = "email"
        /// In the requests to ``login`` and ``signUp``.
        public var password = "password"
        /// In the requests to ``refresh`` and ``logout``.
        public var refreshToken = "refresh_token"
        /// The smallest number of characters in the backend's passwords. Shorter passwords are not sent.
        public var minimumPasswordLength = 6
        /// `POST` with the access token: tells the backend that the person logged out on this machine. The backend
        /// should keep the stored token valid, or the person has to register again. nil: the backend is not told.
        public var localLogout: String?
        /// nil: the backend has no list of a person's sessions.
        public var sessions: Sessions?
        /// The fields of the answers of ``login`` and ``refresh``.
        public var tokens = Tokens()
        /// The fields of the answers of ``login`` and ``me``, and of the request to ``signUp``.
        public var user = User()

        /// Makes the layout with its usual values.
        public init() {}

        public init(from decoder: any Decoder) throws {
            let members = try decoder.layout(keyedBy: CodingKeys.self)
            try members.read(.login, into: &login)
            try members.read(.me, into: &me)
            try members.read(.refresh, into: &refresh)
            try members.read(.logout, into: &logout)
            try members.read(.signUp, into: &signUp)
            try members.read(.forgotPassword, into: &forgotPassword)
            try members.read(.email, into: &email)
            try members.read(.password, into: &password)
            try members.read(.refreshToken, into: &refreshToken)
            try members.read(.minimumPasswordLength, into: &minimumPasswordLength)
            try members.read(.localLogout, into: &localLogout)
            try members.read(.sessions, into: &sessions)
            try members.read(.tokens, into: &tokens)
            try members.read(.user, into: &user)
        }
    }
}
