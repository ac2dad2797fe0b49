import Foundation
import Testing
import VaultBase

@testable import VaultCrypto

@Suite struct MinisignTests {
    /// A key and its signature over "test", from the documents of another program that reads this format.
    private static let key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
    private static let signature = """
        untrusted comment: signature from minisign secret key
        RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=
        trusted comment: timestamp:1633700835\tfile:test\tprehashed
        wLMDjy9FLAuxZ3q4NlEvkgtyhrr0gtTu6KC4KBJdITbbOeAi1zBIYo0v4iTgt8jJpIidRJnp94ABQkJAgAooBQ==

        """
    private static let content = Array("test".utf8)

    private func isValid(_ signature: String, _ content: [UInt8] = Self.content) throws -> Bool {
        let key = try #require(MinisignKey(Self.key))
        return MinisignSignature(Array(signature.utf8))?.isValid(of: content, by: key) ?? false
    }

    @Test func `when minisign signed a file, then its signature is valid`() throws {
        #expect(try isValid(Self.signature))
        #expect(try isValid(Self.signature.replacingOccurrences(of: "\n", with: "\r\n")))
        #expect(try isValid(String(Self.signature.dropLast())))
        let read = try #require(MinisignSignature(Array(Self.signature.utf8)))
        #expect(read.trustedComment == "timestamp:1633700835\tfile:test\tprehashed")
        #expect(read.signedAt == 1_633_700_835)
        let key = try #require(MinisignKey(Self.key))
        #expect(read.names(key) && key.text == Self.key && key.fingerprint == "0cc3-bc0d-7ced-03df-64da")
    }

    @Test(arguments: [
        "a comment", "timestamp:", "timestamp:x", "timestamp:-1", "timestamp:+1", "timestamp: 1",
        "timestamp:123456789012",
        "file:test\ttimestamp:1633700835",
    ])
    func `when a comment has no time, then a signature has none`(comment: String) throws {
        let changed = Self.signature.replacing("timestamp:1633700835\tfile:test\tprehashed", with: comment)
        let read = try #require(MinisignSignature(Array(changed.utf8)))
        #expect(read.trustedComment == comment && read.signedAt == nil)
    }

    @Test func `when anything signed changes, then the signature is invalid`() throws {
        #expect(try !isValid(Self.signature, Array("Test".utf8)))
        #expect(try !isValid(Self.signature, []))
        // The first comment is not signed.
        let start = try #require(Self.signature.firstIndex(of: "\n"))
        for index in Self.signature.indices where index > start {
            let character = Self.signature[index]
            guard character != "\n" else { continue }
            let next = Self.signature.index(after: index)
            let changed = Self.signature.replacingCharacters(in: index..<next, with: character == "A" ? "B" : "A")
            #expect(try !isValid(changed), "\(changed)")
        }
    }

    @Test func `when another key checks a signature, then it is invalid`() throws {
        // The identifier is the same, and the key is another one.
        let other = try SigningKey(seed: SecretBytes(copying: [UInt8](repeating: 7, count: 32)))
        let bytes = Data("Ed".utf8) + Data(hex("1fe8b442180f62e7")) + Data(other.publicKey)
        let key = try #require(MinisignKey(bytes.base64EncodedString()))
        let read = try #require(MinisignSignature(Array(Self.signature.utf8)))
        #expect(read.names(key) && !read.isValid(of: Self.content, by: key))
        #expect(key.fingerprint != "0cc3-bc0d-7ced-03df-64da")
    }

    @Test(arguments: [
        "", "\n\n\n\n", signature + "more\n", "\n" + signature,
        signature.replacing("trusted comment", with: "comment"),
        // The older format signs the file itself.
        signature.replacing("RUQf", with: "RWQf"), signature.replacing("Zwo=", with: "Zwo"),
        signature.replacing("\nwLMD", with: "\n"), signature.replacing("RUQf6", with: "RUQf-"),
    ])
    func `when a text is no signature, then reading fails`(text: String) {
        #expect(MinisignSignature(Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        "", "RW", key + "=", key + "AAAA", String(key.dropLast(4)),
        key.replacing("RWQ", with: "RUQ"), key + " ", "untrusted comment: minisign public key",
        // A key of small order: anybody could sign for it.
        "RWQf6LRCGA9i5wEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ])
    func `when a text is no public key, then reading fails`(text: String) {
        #expect(MinisignKey(text) == nil)
    }
}
