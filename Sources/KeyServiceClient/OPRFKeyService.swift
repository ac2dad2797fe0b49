public import Foundation
public import VaultCrypto

/// The remote service of protocol version 2. It counts guesses, and learns neither the secret nor the result.
///
/// A conformer must not repeat a call by itself: the caller knows which calls may be repeated. It must not log any
/// value but the id of a key. Any number of tasks may call it at once. It throws only ``KeyServiceError`` and
/// `CancellationError`.
public protocol OPRFKeyService: Sendable {
    /// Asks for the versions of the protocol that the service has.
    ///
    /// Empty if the answer names none. Services that know only version 1 answer like this, and other servers, too.
    func protocolVersions() async throws -> Set<Int>

    /// Makes a key and evaluates the first guess. The key can be used after its first ``confirm(_:)``.
    ///
    /// The same call again gives the same answer.
    func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation

    /// Evaluates one guess. It counts as wrong until it is confirmed.
    ///
    /// The same element again is the same guess, and counts once.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - blinded: the blinded element of the guess.
    ///   - requestKey: the key that authenticates the request, 32 bytes.
    ///   - date: the time of the request. The service accepts 300 seconds more or less than its own time.
    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation

    /// Takes back guesses whose secret was right, or that the same person made. The same call again does no harm.
    func confirm(_ confirmation: KeyConfirmation) async throws

    /// Ends a key for good. The same call again does no harm.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - signature: the signature of the end key, 64 bytes.
    func endKey(id: String, signature: [UInt8]) async throws
}

/// The values that make a key of protocol version 2.
public struct NewOPRFKey: Sendable {
    /// The id that the client chose: a random UUID in lower case.
    public let id: String
    /// The key that authenticates later requests, 32 bytes.
    public let requestKey: SharedSecret
    /// The public key that can end the key, 32 bytes.
    public let endKey: [UInt8]
    /// The blinded element of the first guess.
    public let blinded: RistrettoElement
    /// The name of the device, sealed by the client, at most 512 bytes; nil for none.
    public let label: [UInt8]?

    /// Makes the values of a new key. See the properties.
    public init(
        id: String, requestKey: SharedSecret, endKey: [UInt8], blinded: RistrettoElement, label: [UInt8]? = nil
    ) {
        self.id = id
        self.requestKey = requestKey
        self.endKey = endKey
        self.blinded = blinded
        self.label = label
    }
}

/// The evaluation that comes with a new key.
public struct FirstEvaluation: Sendable {
    /// The evaluated element.
    public let element: RistrettoElement
    /// The ticket of the guess, 16 bytes.
    public let ticket: [UInt8]
    /// The time in seconds after which an unclaimed key ends; nil if unclaimed keys stay.
    public let claimWithin: Int64?
    /// The identity of the service; nil for an older service, which has none.
    public let identity: ServiceIdentity?
    /// The identity's signature over the new key, 64 bytes; nil for an older service.
    public let signature: [UInt8]?

    /// Makes an answer for an ``OPRFKeyService`` of your own. Nothing is checked here: the caller of
    /// ``OPRFKeyService/createKey(_:)`` checks the signature.
    ///
    /// - Parameters:
    ///   - element: the evaluated element.
    ///   - ticket: the ticket of the guess, 16 bytes.
    ///   - claimWithin: the time in seconds after which an unclaimed key ends; nil if unclaimed keys stay.
    ///   - identity: the identity of the service.
    ///   - signature: its signature over the new key, 64 bytes.
    public init(
        element: RistrettoElement, ticket: [UInt8], claimWithin: Int64? = nil, identity: ServiceIdentity? = nil,
        signature: [UInt8]? = nil
    ) {
        self.element = element
        self.ticket = ticket
        self.claimWithin = claimWithin
        self.identity = identity
        self.signature = signature
    }
}

/// The evaluation of a guess.
public struct Evaluation: Sendable {
    /// A guess that nobody has confirmed yet.
    public struct OpenGuess: Sendable, Hashable {
        /// The ticket of the guess, 16 bytes.
        public let ticket: [UInt8]
        /// The time of the guess by the service's clock.
        public let date: Date

        /// Makes an open guess.
        ///
        /// - Parameters:
        ///   - ticket: the ticket of the guess, 16 bytes.
        ///   - date: the time of the guess by the service's clock.
        public init(ticket: [UInt8], date: Date) {
            self.ticket = ticket
            self.date = date
        }
    }

    /// The evaluated element.
    public let element: RistrettoElement
    /// The ticket of the guess, 16 bytes.
    public let ticket: [UInt8]
    /// The number of further guesses before the key locks.
    public let guessesRemaining: Int
    /// All open guesses of the key, with this one.
    public let open: [OpenGuess]
    /// The time when the owner last unlocked the key after a sign-in, by the service's clock; nil for never.
    public let ownerUnlockedAt: Date?

    /// Makes an answer for an ``OPRFKeyService`` of your own. See the properties.
    public init(
        element: RistrettoElement, ticket: [UInt8], guessesRemaining: Int, open: [OpenGuess],
        ownerUnlockedAt: Date? = nil
    ) {
        self.element = element
        self.ticket = ticket
        self.guessesRemaining = guessesRemaining
        self.open = open
        self.ownerUnlockedAt = ownerUnlockedAt
    }
}

/// A signed message that takes back guesses. It holds nothing secret, and can be sent later and more than once.
public struct KeyConfirmation: Sendable, Hashable, Codable {
    /// The part that only the first confirmation of a key has.
    public struct Installation: Sendable, Hashable, Codable {
        /// The public key that checks this and later confirmations, 32 bytes.
        public let confirmKey: [UInt8]
        /// The signature of the end key over the confirm key, 64 bytes.
        public let endSignature: [UInt8]

        /// Makes the part of a first confirmation. See the properties.
        public init(confirmKey: [UInt8], endSignature: [UInt8]) {
            self.confirmKey = confirmKey
            self.endSignature = endSignature
        }
    }

    /// The id of the key.
    public let id: String
    /// The tickets of the guesses, 1 to 64.
    public let tickets: [[UInt8]]
    /// The signature of the confirm key over the tickets, 64 bytes.
    public let signature: [UInt8]
    /// The part of a key's first confirmation; nil for a later one.
    public let installation: Installation?

    /// Makes a confirmation. See the properties.
    public init(id: String, tickets: [[UInt8]], signature: [UInt8], installation: Installation? = nil) {
        self.id = id
        self.tickets = tickets
        self.signature = signature
        self.installation = installation
    }
}
