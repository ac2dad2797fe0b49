internal import HTTPTypes
internal import Hummingbird
internal import KeyServiceAPI
internal import KeyServiceCore
internal import VaultBase

/// The strict reader of requests of the protocol's version 1. It refuses unclear ones before any guess is charged.
enum RequestParsing {
    private static let maxKeyIDSize = 128
    private static let renewsField = HTTPField.Name(KeyServiceHeader.renews)

    static func createKeyRequest(_ request: Request) async throws -> CreateKeyRequest {
        guard let secret = try await string("secret", in: members(of: request)) else { throw BadRequest.malformed }
        try requireSecret(secret)
        return CreateKeyRequest(secret: secret)
    }

    static func keyRequest(_ request: Request) async throws -> (keyID: String, guess: KeyKeeper.Guess) {
        let members = try await members(of: request)
        guard let keyID = try string("keyid", in: members) else { throw BadRequest.malformed }
        let secrets = (try string("secret", in: members), try string("longsecret", in: members))
        guard isKeyID(keyID) else { throw BadRequest.unusable }
        switch secrets {
        case (let secret?, nil):
            try requireSecret(secret)
            return (keyID, .secret(secret, renews: renews(request)))
        case (nil, let longSecret?):
            try requireSecret(longSecret)
            return (keyID, .longSecret(longSecret))
        default: throw BadRequest.malformed
        }
    }

    /// Reads the members of the body, a JSON object.
    ///
    /// A name must not come twice: two readers could take two different values.
    private static func members(of request: Request) async throws -> JSONValue {
        guard let members = JSONValue(strictObjectIn: try await OPRFParsing.body(of: request)) else {
            throw BadRequest.malformed
        }
        return members
    }

    /// Returns a member that must be a string, null or missing.
    private static func string(_ name: String, in members: JSONValue) throws -> String? {
        guard let value = members[name] else { return nil }
        guard let string = value.string else { throw BadRequest.malformed }
        return string
    }

    private static func renews(_ request: Request) -> Bool {
        guard let renewsField else { return false }
        return request.headers[renewsField] == "1"
    }

    /// Accepts any text except an empty one and one with a NUL. Other software would cut it short at the NUL.
    private static func requireSecret(_ secret: String) throws {
        guard !secret.isEmpty, !secret.utf8.contains(0) else { throw BadRequest.unusable }
    }

    /// Whether a text is an id that is safe in a log. Operators may have imported keys, so this accepts more
    /// ids than ``KeyKeeper`` makes.
    private static func isKeyID(_ text: String) -> Bool {
        (1...maxKeyIDSize).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
