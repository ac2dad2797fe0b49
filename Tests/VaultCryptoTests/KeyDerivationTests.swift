import Foundation
import TestSupport
import Testing

@testable import VaultCrypto

@Suite struct KeyDerivationTests {
    /// The inputs of RFC 5869 appendix A.1, which the RFC has for SHA-256 only, with the output of an independent
    /// HKDF-SHA512.
    @Test func `when HKDF derives RFC 5869 inputs, then SHA-512 values result`() throws {
        let okm = try KeyDerivation.hkdf(
            SecretBytes(copying: [UInt8](repeating: 0x0b, count: 22)), salt: hex("000102030405060708090a0b0c"),
            info: hex("f0f1f2f3f4f5f6f7f8f9"), count: 42)
        #expect(
            okm.reveal()
                == hex("832390086cda71fb47625bb5ceb168e4c8e26a1a16ed34d9fc7fe92c1481579338da362cb8d9f925d7cb"))
    }

    @Test func `when HKDF runs Wycheproof's cases, then the results agree`() throws {
        for test in try Wycheproof.cases("hkdf_sha512_test.json", count: 83) {
            let result = try? KeyDerivation.hkdf(
                SecretBytes(copying: test.bytes("ikm")), salt: test.bytes("salt"), info: test.bytes("info"),
                count: test.number("size")
            ).reveal()
            #expect(try result == (test.isValid ? test.bytes("okm") : nil), "case \(test.id)")
        }
    }

    @Test func `when HMAC runs Wycheproof's cases, then the results agree`() throws {
        for test in try Wycheproof.cases("hmac_sha512_test.json", count: 174) {
            let mac = try test.bytes("key").withUnsafeBytes { try HMACSHA512(key: $0) }
            try test.bytes("msg").withUnsafeBytes { mac.update($0) }
            let full = try mac.finish().reveal()
            let tag = try test.bytes("tag")
            #expect((Array(full.prefix(tag.count)) == tag) == test.isValid, "case \(test.id)")
        }
    }

    @Test func `when HKDF gets two secrets, then it joins them`() throws {
        let (first, second) = (hex("00112233"), hex("445566778899"))
        let both = try KeyDerivation.hkdf(SecretBytes(copying: first), SecretBytes(copying: second), info: "x")
        let joined = try KeyDerivation.hkdf(SecretBytes(copying: first + second), info: "x")
        let swapped = try KeyDerivation.hkdf(SecretBytes(copying: second), SecretBytes(copying: first), info: "x")
        #expect(both.reveal() == joined.reveal())
        #expect(both.reveal() != swapped.reveal())
    }

    @Test(arguments: [-1, 0, 16_321, Int.max])
    func `when a derived size is impossible, then derivation fails`(count: Int) async throws {
        #expect(
            await code { _ = try KeyDerivation.hkdf(SecretBytes(copying: [1]), info: "x", count: count) }
                == .invalidInput)
    }

    /// A hash that does not wipe its whole state leaves the last block of its input, here all of the PIN, in freed
    /// memory. What is freed next may cover it, so the search is repeated.
    @Test func `when a key is derived, then memory keeps no secret`() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<30 {
                let pin = try HiddenBytes.digits()
                _ = try KeyDerivation.hkdf(pin.revealed(), salt: [1, 2, 3], info: "x")
                _ = try KeyDerivation.hkdf(pin.revealed(), SecretBytes(copying: [1]), info: "x", count: 96)
                #expect(try pin.occurrences() == 0)
            }
        }
    }
}
