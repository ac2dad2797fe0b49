import Foundation
import HummingbirdTesting
import KeyServiceAPI
import KeyServiceAudit
import KeyServiceCore
import Testing

@Suite struct LogTests {
    @Test(arguments: [TestingSetup.router, .live])
    func `when requests are logged, then no secret is included`(setup: TestingSetup) async throws {
        let log = LogCapture()
        let pin = "7391-5520-not-to-be-seen"
        let masterKey = try MasterKey.random()
        let made = try await withService(.inMemory(masterKey), logger: log.makeLogger(), setup: setup) {
            client async throws in
            let made = [try await client.createKey(pin), try await client.createKey(strongSecret)]
            _ = try await client.key(made[0].keyid, secret: pin)
            _ = try await client.key(made[0].keyid, longSecret: made[0].longsecret)
            _ = try await client.key(made[0].keyid, secret: strongSecret)
            _ = try await client.key(made[1].keyid, secret: strongSecret)
            _ = try await client.post(KeyServicePath.key, Array(#"{"keyid":"k","secret":"\#(pin)""#.utf8))
            _ = try await client.post(KeyServicePath.key, Array(#"{"keyid":"\#(pin) ","secret":"\#(pin)"}"#.utf8))
            _ = try await client.post(KeyServicePath.createKey, Array(pin.utf8), contentType: pin)
            _ = try await client.get(KeyServicePath.key + "?secret=" + pin)
            _ = try await client.get("/" + pin)
            return made
        }
        for secret in [pin, strongSecret] + made.flatMap({ [$0.key, $0.longsecret] }) {
            #expect(!log.text.contains(secret))
        }
        // An id in a log would let its readers lock the key.
        let tags = try KeyTags(masterKey)
        for key in made {
            #expect(!log.text.contains(key.keyid))
            #expect(log.text.contains("keytag=\(tags.tag(of: key.keyid))"))
        }
        for status in ["200", "401", "400", "415"] { #expect(log.text.contains(status)) }
    }

    @Test func `when key or master key differs, then the tag differs`() throws {
        let masterKey = try MasterKey.random()
        let tag = try KeyTags(masterKey).tag(of: "a")
        #expect(tag.wholeMatch(of: /[0-9a-f]{16}/) != nil)
        #expect(try KeyTags(masterKey).tag(of: "a") == tag)
        #expect(try KeyTags(masterKey).tag(of: "b") != tag)
        #expect(try KeyTags(.random()).tag(of: "a") != tag)
    }

    @Test func `when wire types are printed, then no ID appears`() {
        for value in [
            KeyRequest(keyid: "the-id", secret: "a") as Any, KeyResponse(keyid: "the-id", key: "k", longsecret: "l"),
        ] {
            var dumped = ""
            dump(value, to: &dumped)
            #expect(!"\(value) \(String(reflecting: value)) \(dumped)".contains("the-id"))
        }
    }
}
