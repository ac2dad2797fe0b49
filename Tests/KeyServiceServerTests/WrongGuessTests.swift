import Foundation
import HTTPTypes
import KeyServiceAPI
import KeyServiceAudit
import KeyServiceCore
import Testing
import VaultBase

/// The reports of wrong guesses to a client, and the cost of wrong guesses for a thief over time.
@Suite struct WrongGuessTests {
    @Test(arguments: [strongSecret, "1234"], [false, true])
    func `when guesses are wrong, then the next release reports them`(secret: String, renews: Bool) async throws {
        let time = Lock(Int64(1000))
        let now: @Sendable () -> Int64 = { time.withLock { $0 } }
        try await withService(now: now) { client async throws in
            let made = try await client.createKey(secret)
            #expect(made.wrongGuesses == nil && made.lastWrongGuessAt == nil)
            let first = try await client.key(made.keyid, secret: secret, renews: renews)
            #expect(first.key?.key == made.key)
            #expect(!String(decoding: first.body, as: UTF8.self).contains("rong"), "nothing is told of none")
            for wrong in [2000, 3000] {
                time.withLock { $0 = Int64(wrong) }
                #expect(try await client.key(made.keyid, secret: "wrong").status == 401)
            }
            time.withLock { $0 = 4000 }
            let reply = try await client.key(made.keyid, secret: secret, renews: renews)
            #expect(reply.key?.key == made.key)
            #expect(reply.key?.wrongGuesses == 2)
            #expect(reply.key?.lastWrongGuessAt == 3000)
        }
    }

    @Test func `when a renewing client succeeds, then the wrong guesses stay`() async throws {
        try await withService { client async throws in
            let made = try await client.createKey(strongSecret)
            #expect(try await client.key(made.keyid, secret: otherStrongSecret).problem?.guessesRemaining == 2)
            for _ in 1...5 {
                let reply = try await client.key(made.keyid, secret: strongSecret, renews: true)
                #expect(reply.key?.wrongGuesses == 1, "the right guess itself is not counted")
            }
            #expect(try await client.key(made.keyid, secret: otherStrongSecret).problem?.guessesRemaining == 1)
            #expect(try await client.key(made.keyid, secret: strongSecret, renews: true).key?.wrongGuesses == 2)
            #expect(try await client.key(made.keyid, secret: otherStrongSecret).problem?.guessesRemaining == 0)
            #expect(try await client.key(made.keyid, secret: strongSecret, renews: true).status == 403)
        }
    }

    @Test(arguments: ["0", "", "true", "11"])
    func `when a renewal header is invalid, then the count resets`(value: String) async throws {
        try await withService { client async throws in
            let made = try await client.createKey(strongSecret)
            _ = try await client.key(made.keyid, secret: "wrong")
            let body = try JSONEncoder().encode(KeyRequest(keyid: made.keyid, secret: strongSecret))
            let reply = try await client.post(
                KeyServicePath.key, body, headers: [#require(.init("Credential-Vault-Renews")): value])
            #expect(reply.key?.wrongGuesses == 1)
            #expect(try await client.key(made.keyid, secret: strongSecret).key?.wrongGuesses == nil)
        }
    }

    /// The thief has one copy, and guesses before each login of the owner. The owner's client renews at the first
    /// login.
    // Row: the disk
    @Test func `when the owner renews, then a thief's copied key locks`() async throws {
        try await withService { client async throws in
            let copied = try await client.createKey(strongSecret)
            var current = copied
            // The thief's guesses that the service evaluated, before each login.
            var evaluated: [Int] = []
            for _ in 1...20 {
                evaluated.append(0)
                for _ in 1...2 {
                    let reply = try await client.key(copied.keyid, secret: otherStrongSecret)
                    if reply.status == 401 { evaluated[evaluated.count - 1] += 1 } else { #expect(reply.status == 403) }
                }
                let login = try await client.key(current.keyid, secret: strongSecret, renews: true)
                let told = try #require(login.key)
                if told.wrongGuesses != nil {
                    let old = current.keyid
                    current = try await client.createKey(strongSecret)
                    while try await client.key(old, secret: randomSecret()).status == 401 {}
                }
            }
            #expect(evaluated == [2] + Array(repeating: 0, count: 19), "the first login ends them")
            #expect(try await client.key(copied.keyid, secret: strongSecret).status == 403)
        }
    }

    /// The same thief against a client that does not renew. The limit that success does not reset stops the thief.
    @Test func `when wrong guesses reach the total, then the key locks`() async throws {
        try await withService(maxGuessesTotal: 9) { client async throws in
            let made = try await client.createKey(strongSecret)
            var evaluated = 0
            for round in 1...20 {
                for _ in 1...2 where try await client.key(made.keyid, secret: otherStrongSecret).status == 401 {
                    evaluated += 1
                }
                let status = try await client.key(made.keyid, secret: strongSecret).status
                #expect(status == (round <= 4 ? 200 : 403), "round \(round)")
            }
            #expect(evaluated == 9)
            #expect(try await client.key(made.keyid, longSecret: made.longsecret).status == 403)
        }
    }

    @Test func `when both limits apply, then the smaller remainder is reported`() async throws {
        try await withService(maxGuessesTotal: 4) { client async throws in
            let made = try await client.createKey(strongSecret)
            for remaining in [2, 1] {
                #expect(try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining == remaining)
            }
            #expect(try await client.key(made.keyid, secret: strongSecret).status == 200)
            #expect(try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining == 1)
            #expect(try await client.key(made.keyid, secret: strongSecret).status == 200)
            #expect(try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining == 0)
            #expect(try await client.key(made.keyid, secret: strongSecret).status == 403)
        }
    }

    @Test func `when a guess is right, then the total count stays`() async throws {
        try await withService(maxGuessesTotal: 3) { client async throws in
            let made = try await client.createKey(strongSecret)
            _ = try await client.key(made.keyid, secret: "wrong")
            for renews in [false, true, false, true, false] {
                #expect(try await client.key(made.keyid, secret: strongSecret, renews: renews).status == 200)
                #expect(try await client.key(made.keyid, longSecret: made.longsecret).status == 200)
            }
            #expect(try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining == 1)
        }
    }

    @Test(arguments: [0, -1, 1_000_001])
    func `when the total limit is invalid, then starting fails`(limit: Int) async throws {
        let error = await #expect(throws: KeyServiceServerError.self) {
            try await withService(maxGuessesTotal: limit) { _ in }
        }
        #expect(error?.code == .configurationInvalid)
    }
}

private func randomSecret() -> String {
    "cv1." + String((0..<43).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789-_".randomElement() ?? "a" })
}
