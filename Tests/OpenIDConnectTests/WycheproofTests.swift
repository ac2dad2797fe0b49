import Testing
import VaultBase

@testable import OpenIDConnect

/// Project Wycheproof's vectors for signed tokens and for sets of keys.
@Suite("Wycheproof JWS")
struct WycheproofTests {
    struct File: Decodable {
        let testGroups: [Group]
    }
    struct Group: Decodable {
        let comment: String
        let `public`: JSONValue?
        let `private`: JSONValue?
        let tests: [Vector]

        var key: JSONValue? { `public` ?? `private` }
    }
    struct Vector: Decodable {
        let tcId: Int
        let comment: String
        let jws: JSONValue
        let result: String

        func isSigned(byAnyOf keys: [SignatureKey]) -> Bool {
            guard let token = try? SignedToken(jws.string ?? "") else { return false }
            return IDTokenVerifier.isSigned(token, byAnyOf: keys)
        }
    }

    static let signatures = "wycheproof/json_web_signature_test.json"
    static let keySets = "wycheproof/json_web_key_test.json"

    @Test func `when a signature vector is verified, then the result matches`() throws {
        var (seen, verified) = (0, 0)
        for group in try Vectors.decode(File.self, from: Self.signatures).testGroups {
            let key = group.key.flatMap(SignatureKey.init)
            for vector in group.tests {
                let isSigned = vector.isSigned(byAnyOf: [key].compactMap(\.self))
                // Stricter than the vectors in two ways: shared secrets never count, and a key that names its algorithm
                // works for no other. (Some keys of RFC 7520 are labelled "ES521", or labelled PS256 and used with
                // PS384.)
                let algorithm = try? SignedToken(vector.jws.string ?? "").algorithm.rawValue
                let isLabelledRight = group.key?["alg"] == nil || group.key?["alg"]?.string == algorithm
                let expected = vector.result == "valid" && key != nil && isLabelledRight
                #expect(isSigned == expected, "\(group.comment) \(vector.tcId) \(vector.comment)")
                seen += 1
                if isSigned { verified += 1 }
            }
        }
        #expect(seen == 401)
        #expect(verified > 20)
    }

    @Test func `when a key-set vector is verified, then the result matches`() throws {
        var (seen, verified) = (0, 0)
        for group in try Vectors.decode(File.self, from: Self.keySets).testGroups {
            let keys = try #require(group.key?["keys"]?.array).compactMap(SignatureKey.init)
            for vector in group.tests {
                let isSigned = vector.isSigned(byAnyOf: keys)
                // Stricter than the vectors in one way: shared secrets never count.
                let expected = vector.result == "valid" && !keys.isEmpty
                #expect(isSigned == expected, "\(group.comment) \(vector.tcId) \(vector.comment)")
                seen += 1
                if isSigned { verified += 1 }
            }
        }
        #expect(seen == 26)
        #expect(verified > 0)
    }
}

/// Only the test vectors are read with other types. The library reads JSON with its own parser.
extension JSONValue: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }
}
