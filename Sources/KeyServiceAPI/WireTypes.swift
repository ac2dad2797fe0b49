/// The paths of the key service's protocol, version 1, below its base URL.
public enum KeyServicePath {
    /// `POST`: makes a key for a secret.
    public static let createKey = "/keyservice/v1/createkey"
    /// `POST`: hands out a key for the right secret.
    public static let key = "/keyservice/v1/key"
}

/// The body of `POST createkey`.
public struct CreateKeyRequest: Codable, Sendable, CustomReflectable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// The secret that will release the key. `cv1.` and 43 base64url characters is 256 bits strong already; anything
    /// else is stretched by the service.
    public var secret: String

    public init(secret: String) {
        self.secret = secret
    }

    public var description: String { "CreateKeyRequest" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The body of `POST key`: the id of the key, and either its secret or its long secret.
public struct KeyRequest: Codable, Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The id that `createkey` answered.
    public var keyid: String
    /// The secret that the key was made with.
    public var secret: String?
    /// The long secret that `createkey` answered.
    public var longsecret: String?

    public init(keyid: String, secret: String? = nil, longsecret: String? = nil) {
        self.keyid = keyid
        self.secret = secret
        self.longsecret = longsecret
    }

    public var description: String { "KeyRequest(keyid: \(keyid))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["keyid": keyid]) }
}

/// The body of a 200 answer to either call.
public struct KeyResponse: Codable, Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The id of the key.
    public var keyid: String
    /// The released key: base64 (RFC 4648 section 4) of 32 bytes.
    public var key: String
    /// A second, long secret for the same key, for a biometric provider to protect.
    public var longsecret: String

    public init(keyid: String, key: String, longsecret: String) {
        self.keyid = keyid
        self.key = key
        self.longsecret = longsecret
    }

    public var description: String { "KeyResponse(keyid: \(keyid))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["keyid": keyid]) }
}

/// The body of any other answer. Clients of other makes read the status alone.
public struct KeyServiceProblem: Codable, Sendable {
    /// A word for programs: `wrong_secret`, `key_locked`, `no_such_key`, `no_such_path`, `invalid_request`, `busy`, `internal_error`.
    public var error: String
    /// How many wrong guesses are left before the key locks; only with `wrong_secret`.
    public var guessesRemaining: Int?

    public init(error: String, guessesRemaining: Int? = nil) {
        self.error = error
        self.guessesRemaining = guessesRemaining
    }
}
