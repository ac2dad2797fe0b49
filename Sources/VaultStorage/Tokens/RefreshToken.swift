/// What a login gives, ready to be stored: a refresh token, or what serves as one, together with whom it belongs to.
public struct RefreshToken: Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// What is exchanged for access tokens later.
    public package(set) var credential: Credential
    /// Whose it is: from the verified ID token, or what the backend calls the person.
    public let account: AccountID
    /// How the person signed in.
    public let method: SignInMethod
    /// The client it was issued to; empty where the method has none.
    public let clientID: String
    /// What is known of the person.
    public let identity: Identity
    /// The access token that came with it, if it did.
    public package(set) var accessToken: AccessToken?
    /// The ID token as it was signed, if there is one: a hint for logging out at the provider.
    public package(set) var idToken: String?
    /// What the backend's paths and fields are called; nil where the method has no layout.
    package var layout: StoredLayout?

    /// What the ID token, or the backend, says of the person.
    public struct Identity: Sendable, Hashable {
        /// The e-mail address, as the provider or backend says it; it may be unverified.
        public let email: String?
        /// The user name that the person prefers. It may change, and it names nobody for certain.
        public let preferredUsername: String?
        /// The full name.
        public let name: String?
        /// All verified claims, as the JSON that was signed; with a backend, what it answered of the person.
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
    /// What it was granted for, or nil when that was not said.
    public var scope: String? { credential.scope }

    public var description: String { "RefreshToken(\(account))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["account": account]) }
}
