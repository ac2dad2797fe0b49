extension BackendLayout {
    /// The layout of a server that announces its abilities: OAuth, or only API tokens. OAuth's fixed names cannot be
    /// set.
    public struct Server: Sendable, Codable, Hashable {
        /// `GET`: version and features.
        public var info = "/api/info"
        /// `POST`: registers an OAuth client (RFC 7591).
        public var client = "/api/oauth/client"
        /// The path of the login page for the browser.
        public var authorize = "/authorize"
        /// `POST`: OAuth's token endpoint.
        public var token = "/api/oauth/token"
        /// `POST`: exchanges user name and password for an API token.
        public var apiToken = "/api/auth"
        /// `GET`: the person of the token, or a refusal if the token is not valid any more.
        public var profile = "/api/profile"
        /// `POST`: ends an OAuth token (RFC 7009).
        public var oauthRevocation = ""
        /// `POST`: ends the API token that the request carries.
        public var apiTokenRevocation = ""

        /// In the answer of ``info``: a list of texts. Older servers do not have it.
        public var features = "features"
        /// In the answer of ``info``: the server's version. nil: it is not shown.
        public var version: String?
        /// The entry for OAuth in the list ``features``.
        public var oauthFeature = "oauth"
        /// In the request to ``client``.
        public var clientName = "client_name"
        /// In the request to ``client``: a list.
        public var redirectURIs = "redirect_uris"
        /// In the answer of ``client``.
        public var clientID = "client_id"
        /// In the answer of ``client``, if the server insists on a secret.
        public var clientSecret = "client_secret"
        /// More members for the request to ``client``, for example `client_uri`.
        public var clientDetails = ["software_id": "credential-vault", "software_version": "1"]
        /// In the request to ``apiToken``: ``applicationName``.
        public var application = "application"
        /// In the request to ``apiToken``.
        public var username = "username"
        /// In the request to ``apiToken``.
        public var password = "password"
        /// In the answer of ``apiToken``.
        public var issuedToken = "token"
        /// The name of API tokens in the person's list.
        public var applicationName = "Credential Vault"
        /// `POST` with the access token: tells the backend that the person logged out on this machine. The backend
        /// should keep the stored token valid, or the person has to register again. nil: the backend is not told.
        public var localLogout: String?
        /// nil: the backend has no list of a person's sessions.
        public var sessions: Sessions?
        /// The fields of the answers of ``token`` and ``apiToken``. In the answer of ``apiToken`` the token is in
        /// ``issuedToken``.
        public var tokens = Tokens()
        /// The fields of the answer of ``profile``.
        public var user = User()

        /// Makes the layout with its usual values.
        public init() {}

        public init(from decoder: any Decoder) throws {
            let members = try decoder.layout(keyedBy: CodingKeys.self)
            try members.read(.info, into: &info)
            try members.read(.client, into: &client)
            try members.read(.authorize, into: &authorize)
            try members.read(.token, into: &token)
            try members.read(.apiToken, into: &apiToken)
            try members.read(.profile, into: &profile)
            try members.read(.oauthRevocation, into: &oauthRevocation)
            try members.read(.apiTokenRevocation, into: &apiTokenRevocation)
            try members.read(.features, into: &features)
            try members.read(.version, into: &version)
            try members.read(.oauthFeature, into: &oauthFeature)
            try members.read(.clientName, into: &clientName)
            try members.read(.redirectURIs, into: &redirectURIs)
            try members.read(.clientID, into: &clientID)
            try members.read(.clientSecret, into: &clientSecret)
            try members.read(.clientDetails, into: &clientDetails)
            try members.read(.application, into: &application)
            try members.read(.username, into: &username)
            try members.read(.password, into: &password)
            try members.read(.issuedToken, into: &issuedToken)
            try members.read(.applicationName, into: &applicationName)
            try members.read(.localLogout, into: &localLogout)
            try members.read(.sessions, into: &sessions)
            try members.read(.tokens, into: &tokens)
            try members.read(.user, into: &user)
        }
    }
}
