public import VaultBase
internal import VaultCrypto

/// The bytes that version 2 of the protocol signs, authenticates, and derives keys with. Each purpose has its own
/// label, so no value of one purpose is good for another.
public enum OPRFMessage {
    /// Returns `credential-vault/v2/`, the purpose, a zero byte, and the parts one after the other.
    ///
    /// - Parameters:
    ///   - purpose: lower-case letters and hyphens.
    ///   - parts: the values. Only the last one may have a variable size.
    public static func bytes(_ purpose: String, _ parts: [UInt8]...) -> [UInt8] {
        var message = start(purpose)
        for part in parts { message += part }
        return message
    }

    private static func start(_ purpose: String) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(256)
        message += "credential-vault/v2/".utf8
        message += purpose.utf8
        message.append(0)
        return message
    }

    /// The message that authenticates a request to evaluate.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - seconds: the client's time in seconds since 1970, as in the header field.
    ///   - bodyHash: SHA-512 of the body's bytes.
    public static func evaluate(id: String, seconds: String, bodyHash: [UInt8]) -> [UInt8] {
        var message = start("evaluate")
        message += id.utf8
        message += seconds.utf8
        message.append(0)
        message += bodyHash
        return message
    }

    /// The message that authenticates an answer to a request to evaluate. So nobody between client and service can
    /// invent guesses, a time, or the end of a key.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - code: the code of the request, 32 bytes.
    ///   - bodyHash: SHA-512 of the bytes of the answer's body.
    public static func answer(id: String, code: [UInt8], bodyHash: [UInt8]) -> [UInt8] {
        var message = start("answer")
        message += id.utf8
        message += code
        message += bodyHash
        return message
    }

    /// Returns the ticket of a guess: the first 16 bytes of SHA-512 over its label, the id and the element.
    ///
    /// A client accepts no other ticket for its element. Otherwise somebody between client and service could make the
    /// client confirm the guesses of a thief.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - blinded: the blinded element of the guess, 32 bytes.
    public static func ticket(id: String, blinded: [UInt8]) -> [UInt8] {
        var message = start("ticket")
        message += id.utf8
        message += blinded
        return Array(PublicHash.sha512(message).prefix(OPRFSize.ticket))
    }

    /// The message of a confirm's signature.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - tickets: the tickets in the order of the body, 16 bytes each.
    public static func confirm(id: String, tickets: [[UInt8]]) -> [UInt8] {
        bytes("confirm", Array(id.utf8), Array(tickets.joined()))
    }

    /// The message of the end key's signature in a key's first confirm.
    public static func install(id: String, confirmKey: [UInt8]) -> [UInt8] {
        bytes("install", Array(id.utf8), confirmKey)
    }

    /// The message of the end key's signature that puts a key on the list of one owner.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - issuer: the issuer identifier of the owner's identity provider.
    ///   - subject: the owner at this provider.
    public static func claim(id: String, issuer: String, subject: String) -> [UInt8] {
        bytes("claim", Array(id.utf8), Array(issuer.utf8), [0], Array(subject.utf8))
    }

    /// The message of the signature that ends a key.
    public static func end(id: String) -> [UInt8] { bytes("end", Array(id.utf8)) }
}

// The bodies of `evaluate`, which the messages above authenticate.

/// The body of `evaluate`.
public struct EvaluateRequest: Codable, Sendable {
    /// The blinded element, 32 bytes. The same element again is the same guess.
    public var blinded: JSONBytes

    /// - Parameter blinded: the blinded element, 32 bytes.
    public init(blinded: [UInt8]) { self.blinded = JSONBytes(blinded) }
}

/// The answer to `evaluate`, as a client reads it.
public struct EvaluateAnswer: Decodable, Sendable {
    /// A guess that nobody has confirmed yet.
    public struct OpenGuess: Decodable, Sendable {
        /// The ticket of the guess, 16 bytes.
        public let ticket: JSONBytes
        /// The time of the guess, in seconds since 1970, by the service's clock.
        public let at: Int64
    }

    /// The evaluated element, 32 bytes.
    public let evaluated: JSONBytes
    /// The ticket of this guess, 16 bytes.
    public let ticket: JSONBytes
    /// The number of further guesses before the key locks.
    public let guessesRemaining: Int
    /// All open guesses, with this one.
    public let open: [OpenGuess]
    /// The time when the owner last unlocked the key after a sign-in, in seconds since 1970; nil for never.
    public let ownerUnlockedAt: Int64?

    enum CodingKeys: String, CodingKey {
        case evaluated, ticket, open
        case guessesRemaining = "guesses_remaining"
        case ownerUnlockedAt = "owner_unlocked_at"
    }
}

/// The paths of the key service's protocol, version 2, below its base URL. In version 2, the service learns neither the
/// secret nor the result.
public enum OPRFPath {
    /// `GET`: answers ``ProtocolVersions``. The other paths are below it.
    public static let base = "/keyservice/v2"
    /// `POST`: makes a key. Body ``CreateOPRFKeyRequest``, answer ``CreatedOPRFKey``.
    public static let keys = base + "/keys"

    /// The calls for one key.
    public enum Call: String, Sendable, CaseIterable {
        /// Evaluates one guess. Body ``EvaluateRequest``, answer ``EvaluateAnswer``. It needs the field
        /// `Authorization`.
        case evaluate
        /// Takes back guesses whose secret was right. Body ``ConfirmRequest``.
        case confirm
        /// Ends the key for good. Body ``EndRequest``.
        case end
        /// Puts the key on its owner's list of devices. Body ``ClaimRequest``. It needs the owner's access token.
        case claim
    }

    /// `POST`: a call for one key.
    public static func key(_ id: String, _ call: Call) -> String { "\(keys)/\(id)/\(call.rawValue)" }

    /// `POST`: lists the owner's keys. Answer ``DeviceList``. It and the calls below need the owner's access token.
    public static let devices = base + "/devices"

    /// The calls for one key of the owner's list.
    public enum DeviceCall: String, Sendable, CaseIterable {
        /// Revokes the key for good.
        case revoke
        /// Changes the label. Body ``RenameRequest``.
        case rename
        /// Gives a locked key its guesses back. The access token must be from a fresh sign-in.
        case unlock
    }

    /// `POST`: a call for one key of the owner's list.
    public static func device(_ id: String, _ call: DeviceCall) -> String { "\(devices)/\(id)/\(call.rawValue)" }
}
