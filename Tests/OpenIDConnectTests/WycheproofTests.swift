import Foundation
import Testing

@testable import OpenIDConnect

/// Project Wycheproof's JSON Web Signature vectors, where they lie beside the repository.
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
    }
    struct Vector: Decodable {
        let tcId: Int
        let comment: String
        let jws: JSONValue
        let result: String
    }

    static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../shared/vectors/wycheproof/json_web_signature_test.json").standardizedFileURL

    @Test("every vector gets its verdict", .enabled(if: FileManager.default.fileExists(atPath: file.path)))
    func vectors() async throws {
        var verified = 0
        for group in try JSONDecoder().decode(File.self, from: Data(contentsOf: Self.file)).testGroups {
            let jwk = group.public ?? group.private
            let key = jwk.flatMap(SignatureKey.init)
            for vector in group.tests {
                let token = try? SignedToken(vector.jws.string ?? "")
                var isSigned = false
                if let token, let key { isSigned = await IDTokenVerifier.isSigned(token, byAnyOf: [key]) }
                // Stricter than the vectors in two ways: shared secrets never count, and a key that names its algorithm
                // is used for no other (some keys of RFC 7520 are labelled "ES521", or PS256 and signed with PS384).
                let isLabelledRight = jwk?["alg"] == nil || jwk?["alg"]?.string == token?.algorithm.rawValue
                let expected = vector.result == "valid" && key != nil && isLabelledRight
                #expect(isSigned == expected, "\(group.comment) \(vector.tcId) \(vector.comment)")
                if isSigned { verified += 1 }
            }
        }
        #expect(verified > 20)
    }
}
