public import VaultBase

/// The sizes of the protocol, in bytes.
public enum OPRFSize {
    /// A ticket.
    public static let ticket = 16
    /// A request key, a public key, or an element.
    public static let key = 32
    /// A signature.
    public static let signature = 64
    /// The most bytes of a sealed label.
    public static let maxLabel = 512
    /// The most tickets of one confirm.
    public static let maxTickets = 64
}

/// The answer to `GET` at the base path.
public struct ProtocolVersions: Codable, Sendable {
    /// The versions below this path.
    public var versions: [Int]
    /// Whether the service keeps a list of devices; nil for no.
    public var devices: Bool?
    /// The identity of the service; nil for an older service, which has none.
    public var identity: AnnouncedIdentity?
    /// The seconds after which a new key ends if nobody has claimed it; nil if it does not end.
    public var claimWithin: Int64?
    /// Whether an owner may unlock a key after a fresh sign-in; nil for no.
    public var ownerUnlock: Bool?

    enum CodingKeys: String, CodingKey {
        case versions, devices, identity
        case claimWithin = "claim_within"
        case ownerUnlock = "owner_unlock"
    }

    /// - Parameters:
    ///   - versions: the versions below this path.
    ///   - devices: whether the service keeps a list of devices.
    ///   - identity: the identity of the service.
    ///   - claimWithin: the seconds after which a new key ends if nobody has claimed it.
    ///   - ownerUnlock: whether an owner may unlock a key after a fresh sign-in.
    public init(
        versions: [Int], devices: Bool? = nil, identity: AnnouncedIdentity? = nil, claimWithin: Int64? = nil,
        ownerUnlock: Bool? = nil
    ) {
        self.versions = versions
        self.devices = devices
        self.identity = identity
        self.claimWithin = claimWithin
        self.ownerUnlock = ownerUnlock
    }
}

/// The body of `POST keys`.
public struct CreateOPRFKeyRequest: Codable, Sendable, CustomReflectable {
    /// The id that the client chose: a lower-case UUID.
    public var id: String
    /// The key that authenticates later requests, 32 bytes.
    public var requestKey: JSONBytes
    /// The public key that can end the key, 32 bytes.
    public var endKey: JSONBytes
    /// The blinded element of the first evaluation, 32 bytes.
    public var blinded: JSONBytes
    /// The name of the device, sealed by the client, at most 512 bytes; nil for none.
    public var label: JSONBytes?

    enum CodingKeys: String, CodingKey {
        case id, blinded, label
        case requestKey = "request_key"
        case endKey = "end_key"
    }

    /// Makes the body of a request for a new key. See the properties.
    public init(id: String, requestKey: [UInt8], endKey: [UInt8], blinded: [UInt8], label: [UInt8]? = nil) {
        self.id = id
        self.requestKey = JSONBytes(requestKey)
        self.endKey = JSONBytes(endKey)
        self.blinded = JSONBytes(blinded)
        self.label = label.map(JSONBytes.init)
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The answer to `POST keys`.
public struct CreatedOPRFKey: Codable, Sendable {
    /// The evaluated element, 32 bytes.
    public var evaluated: JSONBytes
    /// The ticket of this guess, 16 bytes.
    public var ticket: JSONBytes
    /// The time in seconds after which an unclaimed key ends; nil if unclaimed keys stay. It is signed, so nobody
    /// between client and service can hide it.
    public var claimWithin: Int64?
    /// The signature by the service's identity key over
    /// ``OPRFMessage/created(id:blinded:evaluated:ticket:claimWithin:)``, 64 bytes; nil from an older service.
    public var signature: JSONBytes?
    /// The identity that made the signature. It comes with the answer, because it may change between two calls.
    public var identity: AnnouncedIdentity?

    private enum CodingKeys: String, CodingKey {
        case evaluated, ticket, signature, identity
        case claimWithin = "claim_within"
    }

    /// Makes the answer.
    ///
    /// - Parameters:
    ///   - evaluated: the evaluated element, 32 bytes.
    ///   - ticket: the ticket of this guess, 16 bytes.
    ///   - claimWithin: the time in seconds after which an unclaimed key ends; nil if unclaimed keys stay.
    ///   - signature: the signature by the identity key, 64 bytes.
    ///   - identity: the identity of the service.
    public init(
        evaluated: [UInt8], ticket: [UInt8], claimWithin: Int64? = nil, signature: [UInt8]? = nil,
        identity: AnnouncedIdentity? = nil
    ) {
        self.evaluated = JSONBytes(evaluated)
        self.ticket = JSONBytes(ticket)
        self.claimWithin = claimWithin
        self.signature = signature.map(JSONBytes.init)
        self.identity = identity
    }
}

/// The body of `confirm`.
public struct ConfirmRequest: Codable, Sendable {
    /// The tickets of guesses whose secret was right, or that the same client made: 1 to 64.
    public var tickets: [JSONBytes]
    /// The signature by the confirm key over ``OPRFMessage/confirm(id:tickets:)``, 64 bytes.
    public var signature: JSONBytes
    /// The confirm key, 32 bytes; only needed the first time.
    public var confirmKey: JSONBytes?
    /// The signature by the end key over ``OPRFMessage/install(id:confirmKey:)``, 64 bytes; only needed the first
    /// time.
    public var endSignature: JSONBytes?

    enum CodingKeys: String, CodingKey {
        case tickets, signature
        case confirmKey = "confirm_key"
        case endSignature = "end_signature"
    }

    /// Makes the body. See the properties.
    public init(
        tickets: [[UInt8]], signature: [UInt8], confirmKey: [UInt8]? = nil, endSignature: [UInt8]? = nil
    ) {
        self.tickets = tickets.map(JSONBytes.init)
        self.signature = JSONBytes(signature)
        self.confirmKey = confirmKey.map(JSONBytes.init)
        self.endSignature = endSignature.map(JSONBytes.init)
    }
}

/// The body of `end`.
public struct EndRequest: Codable, Sendable {
    /// The signature by the end key over ``OPRFMessage/end(id:)``, 64 bytes.
    public var signature: JSONBytes

    /// - Parameter signature: the signature by the end key, 64 bytes.
    public init(signature: [UInt8]) { self.signature = JSONBytes(signature) }
}

/// The body of `claim`.
public struct ClaimRequest: Codable, Sendable {
    /// The signature by the end key over ``OPRFMessage/claim(id:issuer:subject:)``, 64 bytes.
    public var signature: JSONBytes

    /// - Parameter signature: the signature by the end key, 64 bytes.
    public init(signature: [UInt8]) { self.signature = JSONBytes(signature) }
}

/// The body of `rename`.
public struct RenameRequest: Codable, Sendable {
    /// The new label, sealed by the client, at most 512 bytes.
    public var label: JSONBytes

    /// - Parameter label: the new label, sealed by the client, at most 512 bytes.
    public init(label: [UInt8]) { self.label = JSONBytes(label) }
}

/// The answer to `devices`: the owner's live keys, the oldest first.
public struct DeviceList: Codable, Sendable {
    /// A key of the owner.
    public struct Device: Codable, Sendable, Hashable {
        /// The id of the key.
        public var id: String
        /// The label, sealed by the client; nil for none.
        public var label: JSONBytes?
        /// The time when the key was made, in seconds since 1970.
        public var createdAt: Int64
        /// The time of the last confirm, in seconds since 1970; nil for never.
        public var lastUsedAt: Int64?
        /// Whether no guesses are left.
        public var locked: Bool

        enum CodingKeys: String, CodingKey {
            case id, label, locked
            case createdAt = "created_at"
            case lastUsedAt = "last_used_at"
        }

        /// Makes an entry of the list. See the properties.
        public init(id: String, label: [UInt8]?, createdAt: Int64, lastUsedAt: Int64?, locked: Bool) {
            self.id = id
            self.label = label.map(JSONBytes.init)
            self.createdAt = createdAt
            self.lastUsedAt = lastUsedAt
            self.locked = locked
        }
    }

    /// The owner's keys.
    public var devices: [Device]

    /// - Parameter devices: the owner's keys.
    public init(devices: [Device]) { self.devices = devices }
}

/// The body of a refusal (RFC 9457), with media type `application/problem+json`.
public struct OPRFProblem: Codable, Sendable {
    /// The words for programs.
    public enum Code: String, Codable, Sendable, CaseIterable {
        /// 400: the request is not well formed.
        case invalidRequest = "invalid_request"
        /// 401: the key is unknown, or the request is not authenticated by it.
        case unauthorized
        /// 401: the client's clock is more than 300 seconds off. ``OPRFProblem/time`` has the service's.
        case clock
        /// 401: the access token is not accepted.
        case invalidToken = "invalid_token"
        /// 401: the proof of the key that the access token is bound to is not accepted.
        case invalidProof = "invalid_dpop_proof"
        /// 401: the access token is not from a sign-in of the last 5 minutes.
        case signInAgain = "sign_in_again"
        /// 403: the owner has unlocked the key in the last 24 hours.
        case unlockedToday = "unlocked_today"
        /// 403: no guesses are left.
        case locked
        /// 404: the owner has no such key.
        case noSuchDevice = "no_such_device"
        /// 404: there is nothing at this path.
        case noSuchPath = "no_such_path"
        /// 405: the path takes another method.
        case methodNotAllowed = "method_not_allowed"
        /// 409: another key has this id.
        case exists
        /// 409: the key has another confirm key.
        case conflict
        /// 409: the key was not confirmed yet.
        case unfinished
        /// 410: the owner's client ended the key.
        case ended
        /// 410: the owner or the operator revoked the key.
        case revoked
        /// 410: the key was locked for so long that the service destroyed it.
        case destroyed
        /// 413: the body is too large.
        case tooLarge = "too_large"
        /// 415: the body is not JSON.
        case notJSON = "not_json"
        /// 422: the blinded element is invalid.
        case invalidElement = "invalid_element"
        /// 429 or 503: try again later. `Retry-After` says when.
        case busy
        /// 500: the service failed.
        case failed
    }

    /// The HTTP status.
    public var status: Int
    /// A sentence for people.
    public var title: String
    /// The word for programs.
    public var code: String
    /// The service's time in seconds since 1970; only with `clock`.
    public var time: Int64?

    /// Makes a problem. See the properties.
    public init(status: Int, title: String, code: Code, time: Int64? = nil) {
        self.status = status
        self.title = title
        self.code = code.rawValue
        self.time = time
    }
}
