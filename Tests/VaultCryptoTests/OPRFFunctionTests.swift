import Foundation
import Testing

@testable import VaultCrypto

/// The published values of RFC 9380 and RFC 9497, invalid encodings, and wrong answers of a service.
@Suite struct OPRFTests {
    @Test func `when a message is expanded, then RFC 9380 values result`() throws {
        let file = try OPRFVectors.read("rfc9380-expand-message-xmd-sha512.json", cases: 4)
        let tag = Array(try #require(file["tag"] as? String).utf8)
        for test in try #require(file["cases"] as? [[String: Any]]) {
            let message = Array(try #require(test["message"] as? String).utf8)
            let size = try #require(test["size"] as? Int)
            let output = try OPRF.expand(SecretBytes(copying: message), tag: tag, count: size).reveal()
            #expect(output == hex(try #require(test["output"] as? String)))
        }
    }

    @Test func `when an input is evaluated, then RFC 9497 values result`() throws {
        let file = try OPRFVectors.read("rfc9497-ristretto255-oprf.json", cases: 2)
        let key = try SecretBytes(copying: hex(try #require(file["key"] as? String)))
        for test in try #require(file["cases"] as? [[String: String]]) {
            func value(_ name: String) throws -> [UInt8] { hex(try #require(test[name])) }
            let input = try SecretBytes(copying: value("input"))
            let blinding = try OPRF.blind(input, with: SecretBytes(copying: value("blind")))
            #expect(blinding.element.bytes == (try value("blinded")))
            let evaluated = try OPRF.evaluate(blinding.element, key: key)
            #expect(evaluated.bytes == (try value("evaluated")))
            let output = try OPRF.finalize(input, blinding, evaluated: evaluated).reveal()
            #expect(output == (try value("output")))
        }
    }

    @Test func `when the blind differs, then the result is the same`() throws {
        let key = try OPRF.randomKey()
        let other = try OPRF.randomKey()
        func result(_ input: [UInt8], _ key: borrowing SecretBytes) throws -> [UInt8] {
            let input = try SecretBytes(copying: input)
            let blinding = try OPRF.blind(input)
            return try OPRF.finalize(
                input, blinding, evaluated: OPRF.evaluate(blinding.element, key: key)
            ).reveal()
        }
        #expect(try result([1, 2, 3], key) == result([1, 2, 3], key))
        #expect(try result([1, 2, 3], key) != result([1, 2, 4], key))
        #expect(try result([1, 2, 3], key) != result([1, 2, 3], other))
    }

    @Test func `when an input is blinded twice, then the elements differ`() throws {
        let input = try SecretBytes(copying: [7])
        #expect(try OPRF.blind(input).element != OPRF.blind(input).element)
    }

    /// RFC 9496 appendix A.2, and what libsodium 1.0.18 accepts although it must not.
    @Test(
        arguments: [
            // No canonical field element.
            "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            // A negative field element.
            "0100000000000000000000000000000000000000000000000000000000000000",
            "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            // No square.
            "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
            // The identity, also with the highest bit.
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000000000080",
            // The generator with the highest bit, and too short or long.
            "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2df6",
            "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d",
            "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d7600", "",
        ])
    func `when an element encoding is invalid, then reading fails`(encoding: String) async {
        #expect(await code { _ = try RistrettoElement(hex(encoding)) } == .invalidInput)
    }

    @Test func `when the generator is decoded, then encoding returns its bytes`() throws {
        let generator = hex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
        #expect(try RistrettoElement(generator).bytes == generator)
    }

    @Test func `when an answer equals its question, then finalizing fails`() async throws {
        let input = try SecretBytes(copying: [1])
        let blinding = try OPRF.blind(input)
        do {
            _ = try OPRF.finalize(input, blinding, evaluated: blinding.element)
            Issue.record("It was accepted.")
        } catch let error as VaultCryptoError {
            #expect(error.code == .invalidInput)
        }
    }

    @Test func `when a key is not a scalar, then evaluating fails`() async throws {
        let element = try OPRF.blind(SecretBytes(copying: [1])).element
        for key in [[UInt8](repeating: 0, count: 32), [], [1]] {
            #expect(
                await code { _ = try OPRF.evaluate(element, key: SecretBytes(copying: key)) }
                    == .invalidInput)
        }
    }

    @Test func `when an input is too long, then blinding fails`() async throws {
        #expect(await code { _ = try OPRF.blind(SecretBytes(count: 65_536) { _ in }) } == .invalidInput)
    }
}

/// The files of `Tests/Vectors/oprf`.
enum OPRFVectors {
    static func read(_ file: String, cases: Int?) throws -> [String: Any] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Vectors/oprf").standardizedFileURL
        let data = try Data(contentsOf: folder.appending(path: file))
        let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        if let cases { try #require((json["cases"] as? [Any])?.count == cases, "\(file) is not the file that it was") }
        return json
    }
}
