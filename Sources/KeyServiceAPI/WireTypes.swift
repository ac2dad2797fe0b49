/// The paths of the key service's protocol, version 1, below its base URL.
public enum KeyServicePath {
    /// `POST`: makes a key for a secret.
    public static let createKey = "/keyservice/v1/createkey"
    /// `POST`: gives out a key for the right secret.
    public static let key = "/keyservice/v1/key"
}

/// The header fields that the protocol adds to HTTP's own.
public enum KeyServiceHeader {
    /// A field of `POST key` with a `secret`; the value is `1`. After wrong guesses, the client makes a new key and
    /// ends this one. So the service does not set the count back after the right secret.
    public static let renews = "Credential-Vault-Renews"
}

/// The body of `POST createkey`.
public struct CreateKeyRequest: Codable, Sendable, CustomReflectable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// The secret that will release the key. `cv1.` and 43 base64url characters have 256 bits. The service stretches
    /// any other secret.
    public var secret: String

    /// Makes the body of a request for a new key.
    ///
    /// - Parameter secret: the secret that will release the key: text, not empty.
    public init(secret: String) {
        self.secret = secret
    }

    public var description: String { "CreateKeyRequest" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The body of `POST key`: the id of the key, and either its secret or its long secret.
public struct KeyRequest: Codable, Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The id from the answer to `createkey`.
    public var keyid: String
    /// The secret that the key was made with.
    public var secret: String?
    /// The long secret from the answer to `createkey`.
    public var longsecret: String?

    /// Makes the body of a request for a key. Give one of the two secrets.
    ///
    /// - Parameters:
    ///   - keyid: the id that `createkey` answered.
    ///   - secret: the secret that the key was made with.
    ///   - longsecret: the long secret that `createkey` answered.
    public init(keyid: String, secret: String? = nil, longsecret: String? = nil) {
        self.keyid = keyid
        self.secret = secret
        self.longsecret = longsecret
    }

    // The id is not printed either: a reader of a log could lock the key with it.
    public var description: String { "KeyRequest" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The body of a 200 answer to either call.
public struct KeyResponse: Codable, Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The id of the key.
    public var keyid: String
    /// The released key: base64 (RFC 4648 section 4) of 32 bytes.
    public var key: String
    /// A second, long secret for the same key, for a biometric provider to protect.
    public var longsecret: String
    /// The number of wrong secrets since the last right one; only in an answer to `key`, and missing if there were
    /// none. Clients of other makes ignore it.
    public var wrongGuesses: Int?
    /// The time of the last wrong secret, in seconds since 1970.
    public var lastWrongGuessAt: Int64?

    /// Makes the body of an answer.
    ///
    /// - Parameters:
    ///   - keyid: the id of the key.
    ///   - key: base64 (RFC 4648 section 4) of 32 bytes.
    ///   - longsecret: the long secret for the same key.
    ///   - wrongGuesses: the number of wrong secrets since the last right one; nil for none.
    ///   - lastWrongGuessAt: the time of the last wrong secret, in seconds since 1970.
    public init(
        keyid: String, key: String, longsecret: String, wrongGuesses: Int? = nil, lastWrongGuessAt: Int64? = nil
    ) {
        self.keyid = keyid
        self.key = key
        self.longsecret = longsecret
        self.wrongGuesses = wrongGuesses
        self.lastWrongGuessAt = lastWrongGuessAt
    }

    /// Reads an answer. An impossible count or time counts as missing, so that it keeps nobody out.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        keyid = try members.decode(String.self, forKey: .keyid)
        key = try members.decode(String.self, forKey: .key)
        longsecret = try members.decode(String.self, forKey: .longsecret)
        if let count = try? members.decode(Int.self, forKey: .wrongGuesses), (1...Int(Int32.max)).contains(count) {
            wrongGuesses = count
        }
        if let time = try? members.decode(Int64.self, forKey: .lastWrongGuessAt), Self.times.contains(time) {
            lastWrongGuessAt = time
        }
    }

    /// The allowed times, until the end of the year 9999.
    private static let times: ClosedRange<Int64> = 0...253_402_300_799

    public var description: String { "KeyResponse" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The body of any other answer. Clients of other makes read only the status.
public struct KeyServiceProblem: Codable, Sendable {
    /// A word for programs: `wrong_secret`, `key_locked`, `no_such_key`, `no_such_path`, `invalid_request`, `busy`, `internal_error`.
    public var error: String
    /// The number of wrong guesses that are left before the key locks. Only with `wrong_secret`, and missing after a
    /// wrong long secret, which is not counted.
    public var guessesRemaining: Int?

    /// Makes the body of a refusal.
    ///
    /// - Parameters:
    ///   - error: one of the words of ``error``.
    ///   - guessesRemaining: the number of wrong guesses that are left; only with `wrong_secret`.
    public init(error: String, guessesRemaining: Int? = nil) {
        self.error = error
        self.guessesRemaining = guessesRemaining
    }

    /// Reads a problem. An impossible number of guesses counts as missing.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        error = try members.decode(String.self, forKey: .error)
        if let count = try? members.decode(Int.self, forKey: .guessesRemaining), (0...Int(Int32.max)).contains(count) {
            guessesRemaining = count
        }
    }
}
