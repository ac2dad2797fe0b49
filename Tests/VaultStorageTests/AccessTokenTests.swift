import Foundation
import Testing
import VaultStorage

struct AccessTokenTests {
    @Test(arguments: [nil, 300.0])
    func `when a token is future-dated, then it is invalid`(life: Double?) {
        let now = Date(timeIntervalSince1970: 1_000_000)
        func token(receivedIn seconds: Double) -> AccessToken {
            let obtainedAt = now + seconds
            return AccessToken(
                value: "token", tokenType: "Bearer", expiresAt: life.map { obtainedAt + $0 }, scope: nil,
                obtainedAt: obtainedAt)
        }
        #expect(token(receivedIn: 0).isValid(for: .seconds(60), at: now))
        #expect(token(receivedIn: 30).isValid(for: .seconds(60), at: now), "clocks differ a little")
        #expect(!token(receivedIn: 86_400).isValid(for: .seconds(60), at: now), "the clock was set back")
    }
}
