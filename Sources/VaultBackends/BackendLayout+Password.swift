extension BackendLayout {
    /// The layout of a backend that takes e-mail address and password, and issues refresh tokens.
    public struct Password: Sendable, Codable, Hashable {
        /// `POST`: exchanges e-mail address and password for tokens.
        public var login = "/auth/login"
        /// `GET`: the person of the access token, if the answer of ``login`` does not name the person. If empty, or if
        /// the answer is 404, the claims of the access token name the person.
        public var me = "/auth/me"
        /// `POST`: exchanges a refresh token for new tokens.
        public var refresh = "/auth/refresh"
        /// `POST` with the access token: ends the refresh token.
        public var logout = "/auth/logout"

        /// `POST`: makes an account from e-mail address, password and, as ``User/fullName``, the full name. nil: the
        /// backend has no such call.
        public var signUp: String?
        /// More members for the request to ``signUp``, each with its text. The texts `{email}`, `{password}` and
        /// `{name}` stand for the person's input. For example, `confirmPassword` with `{password}`.
        public var signUpDetails: [String: String] = [:]
        /// `POST`: the e-mail address of a person with a forgotten password. nil: the backend has no such call.
        public var forgotPassword: String?

        /// In the requests to ``login``, ``signUp`` and ``forgotPassword``.
        public var email = "email"
        /// In the requests to ``login`` and ``signUp``.
        public var password = "password"
        /// In the requests to ``refresh`` and ``logout``. nil: `refresh_token` or `refreshToken`, as the backend spells it
        /// in the answer of ``login``.
        public var refreshToken: String?
        /// The smallest number of characters in the backend's passwords. Shorter passwords are not sent.
        public var minimumPasswordLength = 6
        /// How the backend asks for the code of a second factor.
        public var secondFactor = SecondFactor()
        /// `POST` with the access token: tells the backend that the person logged out on this machine. The backend
        /// should keep the stored token valid, or the person has to register again. nil: the backend is not told.
        public var localLogout: String?
        /// nil: the backend has no list of a person's sessions.
        public var sessions: Sessions?
        /// The fields of the answers of ``login`` and ``refresh``.
        public var tokens = Tokens()
        /// The fields of the answers of ``login`` and ``me``, and of the request to ``signUp``.
        public var user = User()
        /// In the answer of ``login``: the permanent identifier of the person, beside the tokens.
        public var userID = "user_id"
        /// The claim of an access token (JWT, RFC 7519) that has the identifier of the person. Empty: access tokens name
        /// nobody.
        public var tokenSubject = "sub"

        /// Makes the layout with its usual values.
        public init() {}

        public init(from decoder: any Decoder) throws {
            let members = try decoder.layout(keyedBy: CodingKeys.self)
            try members.read(.login, into: &login)
            try members.read(.me, into: &me)
            try members.read(.refresh, into: &refresh)
            try members.read(.logout, into: &logout)
            try members.read(.signUp, into: &signUp)
            try members.read(.signUpDetails, into: &signUpDetails)
            try members.read(.forgotPassword, into: &forgotPassword)
            try members.read(.email, into: &email)
            try members.read(.password, into: &password)
            try members.read(.refreshToken, into: &refreshToken)
            try members.read(.minimumPasswordLength, into: &minimumPasswordLength)
            try members.read(.secondFactor, into: &secondFactor)
            try members.read(.localLogout, into: &localLogout)
            try members.read(.sessions, into: &sessions)
            try members.read(.tokens, into: &tokens)
            try members.read(.user, into: &user)
            try members.read(.userID, into: &userID)
            try members.read(.tokenSubject, into: &tokenSubject)
        }
    }
}
