import Foundation
import TestSupport
import Testing

@testable import VaultCrypto

@Suite struct SecretBytesTests {
    @Test func `when a secret is empty, then its count is zero`() throws {
        let empty = try SecretBytes(copying: [])
        #expect(empty.count == 0)
        #expect(empty.reveal().isEmpty)
        #expect(empty.utf8String() == "")
        let others = try (
            empty.isEqual(to: empty.copy()), empty.isEqual(to: SecretBytes(utf8: "")),
            empty.isEqual(to: SecretBytes(copying: [0])), SecretBytes.random(count: 0).count
        )
        #expect(others == (true, true, false, 0))
    }

    @Test func `when bytes differ, then the secrets are not equal`() throws {
        let secret = try SecretBytes(copying: [1, 2, 3])
        let results = try [[1, 2, 3], [1, 2, 4], [1, 2], [1, 2, 3, 0]].map {
            try secret.isEqual(to: SecretBytes(copying: $0))
        }
        #expect(results == [true, false, false, false])
    }

    @Test func `when the original ends, then its copy lives on`() throws {
        var original: SecretBytes? = try SecretBytes(copying: [1, 2, 3])
        let address = original!.withUnsafeBytes { $0.baseAddress }
        let copy = try original!.copy()
        #expect(copy.withUnsafeBytes { $0.baseAddress } != address)
        original = nil
        #expect(copy.reveal() == [1, 2, 3])
    }

    @Test func `when a size is impossible, then allocation throws`() async throws {
        #expect(await code { _ = try SecretBytes(count: -1) { _ in } } == .outOfMemory)
        #expect(await code { _ = try SecretBytes(count: Int.max) { _ in } } == .outOfMemory)
    }

    @Test func `when bytes are not UTF-8, then no text results`() throws {
        #expect(try SecretBytes(copying: [0xC3, 0x28]).utf8String() == nil)
        #expect(try SecretBytes(utf8: "Grüße\0").utf8String() == "Grüße\0")
    }

    @Test func `when a box gives its secret, then taking again fails`() async throws {
        let box = SecretBox(try SecretBytes(copying: [1]))
        #expect(try box.take().reveal() == [1])
        #expect(await code { _ = try box.take() } == .invalidInput)
    }

    @Test func `when a box is printed, then its secret stays hidden`() throws {
        let box = SecretBox(try SecretBytes(utf8: "hunter2-hunter2"))
        var dumped = ""
        dump(box, to: &dumped)
        for text in [dumped, "\(box)", String(reflecting: box)] {
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("104"))  // the first byte, as a number
        }
        #expect(try box.take().count == 15)
    }

    /// Looks through all of this process's memory for bytes that only a `SecretBytes` ever held.
    @Test func `when a secret ends, then its memory is wiped`() throws {
        let marker = try HiddenBytes.digits(count: 32)
        let secret = try marker.revealed()
        let copy = try secret.copy()
        // The control: while they live, they are found.
        #expect(try marker.occurrences() == 2)
        _ = consume copy
        #expect(try marker.occurrences() == 1)
        let box = SecretBox(secret)
        _ = consume box
        #expect(try marker.occurrences() == 0)
    }

    @Test func `when an initializer throws, then its memory is wiped`() throws {
        struct Failure: Error {}
        let marker = try HiddenBytes.digits(count: 32)
        #expect(throws: Failure.self) {
            _ = try SecretBytes(count: marker.count) {
                marker.write(into: $0)
                throw Failure()
            }
        }
        #expect(try marker.occurrences() == 0)
    }

    @Test func `when a password is sealed, then memory keeps no copy`() async throws {
        let marker = try HiddenBytes.digits(count: 32)
        do {
            let password = try marker.revealed()
            let stretched = try await StretchedPassword(
                password: password, salt: [UInt8](0..<16), deviceSecret: SecretBytes.random(count: 32),
                parameters: .insecureForTests)
            #expect(try stretched.authSecret().count == 47)
            let context = SealingContext(purpose: "p", issuer: "", subject: "", id: "")
            let key = try SecretBytes.random(count: 32)
            let sealed = try SealedEnvelope.seal(password, key: key, context: context)
            let isSame = try SealedEnvelope.open(sealed, key: key, context: context).isEqual(to: password)
            #expect(isSame)
            #expect(try SecretBase64.encode(password, .urlSafe).count > 0)
        }
        #expect(try marker.occurrences() == 0)
    }
}
