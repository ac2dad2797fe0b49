/// The result of a login, ready to be stored: a refresh token, or a token that serves as one, and its account.
public struct SignInResult: Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The secret that is exchanged for access tokens later.
    public package(set) var credential: Credential
    /// The account, from the verified ID token or from the backend's answer.
    public let account: AccountID
    /// How the person signed in.
    public let method: SignInMethod
    /// The client that the token was issued to; empty if the method has no client.
    public let clientID: String
    /// The person's identity.
    public let identity: Identity
    /// The access token from the same login, if there was one.
    public package(set) var accessToken: AccessToken?
    /// The ID token as it was signed, if there is one. The provider gets it as a hint at logout.
    public package(set) var idToken: String?
    /// The names of the backend's paths and fields; nil if the method has no layout.
    package var layout: StoredLayout?

    /// The person's identity, from the ID token or the backend.
    public struct Identity: Sendable, Hashable {
        /// The e-mail address, as the provider or backend says it; it may be unverified.
        public let email: String?
        /// The user name that the person prefers. It may change, and it names nobody for certain.
        public let preferredUsername: String?
        /// The full name.
        public let name: String?
        /// All verified claims, as the JSON that was signed. For a backend, its answer about the person.
        public let claimsJSON: [UInt8]

        /// Makes what is known of a person, for a `SignIn` of your own.
        ///
        /// - Parameters:
        ///   - email: the e-mail address.
        ///   - preferredUsername: the user name that the person prefers.
        ///   - name: the full name.
        ///   - claimsJSON: all claims as a JSON object in UTF-8.
        public init(email: String?, preferredUsername: String?, name: String?, claimsJSON: [UInt8]) {
            self.email = email
            self.preferredUsername = preferredUsername
            self.name = name
            self.claimsJSON = claimsJSON
        }
    }

    /// Makes the result of a sign-in, for a `SignIn` of your own.
    ///
    /// - Parameters:
    ///   - credential: the credential that is exchanged for access tokens later.
    ///   - account: the account that it belongs to.
    ///   - method: how the person signed in.
    ///   - clientID: the client that it was issued to; empty if the method has no clients.
    ///   - identity: what is known of the person.
    ///   - accessToken: the access token that came with it; nil for none.
    ///   - idToken: the ID token as it was signed; nil for none.
    public init(
        _ credential: Credential, account: AccountID, method: SignInMethod = .openIDConnect, clientID: String,
        identity: Identity, accessToken: AccessToken?, idToken: String? = nil
    ) {
        self.credential = credential
        self.account = account
        self.method = method
        self.clientID = clientID
        self.identity = identity
        self.accessToken = accessToken
        self.idToken = idToken
    }

    /// The token itself: an opaque string.
    public var value: String { credential.value }
    /// The granted scopes, or nil if the provider did not say.
    public var scope: String? { credential.scope }

    public var description: String { "SignInResult(\(account))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["account": account]) }
}
