import Foundation
import HummingbirdTesting
import KeyServiceAPI
import Testing

@Suite struct LogTests {
    @Test(arguments: [TestingSetup.router, .live]) func requestsAreLoggedWithoutSecrets(setup: TestingSetup)
        async throws
    {
        let log = LogCapture()
        let pin = "7391-5520-not-to-be-seen"
        let made = try await withService(logger: log.makeLogger(), setup: setup) { client async throws in
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
        #expect(log.text.contains(made[0].keyid))
        for status in ["200", "401", "400", "415"] { #expect(log.text.contains(status)) }
    }
}
