extension BackendLayout {
    /// The layout of a server that announces its abilities: OAuth, or only API tokens. OAuth's fixed names cannot be
    /// set. The usual values are those of Readeck.
    public struct Server: Sendable, Codable, Hashable {
        /// `GET`: version and features. Empty: the server has no such call, and no OAuth.
        public var info = "/api/info"
        /// `POST`: registers an OAuth client (RFC 7591).
        public var client = "/api/oauth/client"
        /// The path of the login page for the browser.
        public var authorize = "/authorize"
        /// `POST`: starts a sign-in on another device (RFC 8628). Empty: the server has no such call.
        public var device = "/api/oauth/device"
        /// `POST`: OAuth's token endpoint.
        public var token = "/api/oauth/token"
        /// `POST`: exchanges user name and password for an API token. Empty: the server has no such call.
        public var apiToken = "/api/auth"
        /// `GET`: the person of the token, or a refusal if the token is not valid any more.
        public var profile = "/api/profile"
        /// `POST`: ends an OAuth token (RFC 7009). If it is an access token, the header has the same token. Empty: the
        /// server has no such call.
        public var oauthRevocation = "/api/oauth/revoke"
        /// `POST`: ends the API token that the request carries.
        public var apiTokenRevocation = ""

        /// In the answer of ``info``: a list of texts. Older servers do not have it.
        public var features = "features"
        /// In the answer of ``info``: the server's version. Empty: it is not shown.
        public var version = "version.canonical"
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
        /// More members for the request to ``client``. JSON needs only those that differ. An empty text leaves a member
        /// out. `client_uri` is the https address of a page about your app, which the server shows to the person.
        /// Readeck registers no client without it.
        public var clientDetails = ["software_id": "credential-vault", "software_version": "1"]
        /// The grant types of a client that registers for the browser (RFC 7591 section 2). A server with refresh
        /// tokens may want `refresh_token`, too.
        public var grantTypes = ["authorization_code"]
        /// Whether the server keeps a registered client, so that the next sign-in can use it. If not, each sign-in
        /// registers another client.
        public var keepsClient = false
        /// The scopes to ask for if the settings name none, or only scopes of OpenID Connect.
        public var scopes = ["bookmarks:read", "bookmarks:write", "profile:read"]
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
            try members.read(.device, into: &device)
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
            if let details = try members.decodeIfPresent([String: String].self, forKey: .clientDetails) {
                clientDetails.merge(details) { $1 }
            }
            try members.read(.grantTypes, into: &grantTypes)
            try members.read(.keepsClient, into: &keepsClient)
            try members.read(.scopes, into: &scopes)
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
