import Foundation
import HummingbirdTesting
import KeyServiceAPI
import KeyServiceAudit
import KeyServiceCore
import KeyServiceSQLite
import Testing

@Suite struct GuessTests {
    // Row: only the id of a key
    @Test(arguments: [strongSecret, "1234"])
    func `when the third guess is wrong, then the key locks`(secret: String) async throws {
        try await withService { client async throws in
            let made = try await client.createKey(secret)
            for remaining in [2, 1, 0] {
                let reply = try await client.key(made.keyid, secret: "wrong")
                #expect(reply.status == 401)
                #expect(reply.problem?.error == "wrong_secret")
                #expect(reply.problem?.guessesRemaining == remaining)
                #expect(reply.header("Cache-Control") == "no-store")
            }
            for reply in [
                try await client.key(made.keyid, secret: "wrong"), try await client.key(made.keyid, secret: secret),
                try await client.key(made.keyid, longSecret: made.longsecret),
            ] {
                #expect(reply.status == 403)
                #expect(reply.problem?.error == "key_locked")
                #expect(reply.key == nil)
            }
            let other = try await client.createKey(secret)
            #expect(try await client.key(other.keyid, secret: secret).status == 200)
        }
    }

    @Test func `when a guess is right, then all guesses come back`() async throws {
        try await withService { client async throws in
            let made = try await client.createKey(strongSecret)
            for _ in 1...4 {
                #expect(try await client.key(made.keyid, secret: otherStrongSecret).problem?.guessesRemaining == 2)
                #expect(try await client.key(made.keyid, secret: "1234").problem?.guessesRemaining == 1)
                #expect(try await client.key(made.keyid, secret: strongSecret).status == 200)
            }
        }
    }

    /// 256 bits cannot be guessed. Counting would only let others lock the key.
    @Test func `when a long secret is wrong, then no guess counts`() async throws {
        try await withService { client async throws in
            let made = try await client.createKey(strongSecret)
            let wrong = String(made.longsecret.reversed())
            for secret in [wrong, "x", strongSecret, wrong] {
                let reply = try await client.key(made.keyid, longSecret: secret)
                #expect(reply.status == 401)
                #expect(reply.problem?.error == "wrong_secret")
                #expect(reply.problem?.guessesRemaining == nil)
            }
            #expect(try await client.key(made.keyid, secret: made.longsecret).problem?.guessesRemaining == 2)
            #expect(try await client.key(made.keyid, longSecret: wrong).status == 401)
            #expect(try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining == 1)
            let reply = try await client.key(made.keyid, longSecret: made.longsecret)
            #expect(reply.key?.key == made.key)
            #expect(reply.key?.wrongGuesses == 2)
            // The right guess resets the count of wrong guesses in a row.
            #expect(try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining == 2)
        }
    }

    @Test func `when a request is malformed, then no guess is counted`() async throws {
        try await withService { client async throws in
            let made = try await client.createKey(strongSecret)
            for body in [#"{"keyid":"\#(made.keyid)"}"#, #"{"keyid":"\#(made.keyid)","secret":""}"#] {
                for _ in 1...5 { _ = try await client.post(KeyServicePath.key, Array(body.utf8)) }
            }
            #expect(try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining == 2)
        }
    }

    @Test func `when one guess is allowed, then a wrong one locks`() async throws {
        try await withService(maxGuesses: 1) { client async throws in
            let made = try await client.createKey(strongSecret)
            #expect(try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining == 0)
            #expect(try await client.key(made.keyid, secret: strongSecret).status == 403)
        }
    }

    @Test(arguments: [strongSecret, "1234"])
    func `when wrong guesses run in parallel, then three are evaluated`(secret: String) async throws {
        let folder = try TemporaryFolder()
        let opened = try await KeyServiceFolder(path: folder.data).openCreatingIfAbsent()
        try await withService(opened) { client async throws in
            let made = try await client.createKey(secret)
            let wrong = secret == strongSecret ? otherStrongSecret : "0000"
            let replies = try await inParallel(64) { try await client.key(made.keyid, secret: wrong) }
            #expect(replies.filter { $0.status == 401 }.count == 3)
            #expect(replies.filter { $0.status == 403 }.count == 61)
            #expect(Set(replies.compactMap { $0.problem?.guessesRemaining }) == [0, 1, 2])
            #expect(try await client.key(made.keyid, secret: secret).status == 403)
        }
    }

    @Test(arguments: [strongSecret, "1234"])
    func `when right guesses run in parallel, then all succeed`(secret: String) async throws {
        let folder = try TemporaryFolder()
        let opened = try await KeyServiceFolder(path: folder.data).openCreatingIfAbsent()
        try await withService(opened) { client async throws in
            let made = try await client.createKey(secret)
            for _ in 1...2 { _ = try await client.key(made.keyid, secret: "wrong") }
            let replies = try await inParallel(32) { try await client.key(made.keyid, secret: secret) }
            #expect(replies.allSatisfy { $0.status == 200 && $0.key?.key == made.key })
            #expect(try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining == 2)
        }
    }

    @Test func `when many keys are requested together, then each is released`() async throws {
        let folder = try TemporaryFolder()
        let opened = try await KeyServiceFolder(path: folder.data).openCreatingIfAbsent()
        try await withService(opened) { client async throws in
            let made = try await inParallel(40) { try await client.createKey(strongSecret) }
            #expect(Set(made.map(\.keyid)).count == 40)
            try await withThrowingTaskGroup(of: (Bool).self) { group in
                for key in made {
                    group.addTask { try await client.key(key.keyid, secret: strongSecret).key?.key == key.key }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test func `when Argon2 has no permit, then no guess is lost`() async throws {
        let opened = try await OpenedStore.inMemory()
        let made = try await withService(opened) { try await $0.createKey("1234") }
        try await withService(opened, maxStretchingRequests: 0) {
            client async throws in
            for secret in ["1234", "wrong", "wrong", "wrong"] {
                let reply = try await client.key(made.keyid, secret: secret)
                #expect(reply.status == 503)
                #expect(reply.header("Retry-After") == "1")
                #expect(reply.header("Cache-Control") == "no-store")
            }
            let body = Array(#"{"secret":"1234"}"#.utf8)
            #expect(try await client.post(KeyServicePath.createKey, body).status == 503)
            // Requests that need no Argon2 still work.
            #expect(try await client.key(made.keyid, longSecret: made.longsecret).status == 200)
            _ = try await client.createKey(strongSecret)
        }
        let reply = try await withService(opened) { client async throws in
            try await client.key(made.keyid, secret: "wrong")
        }
        #expect(reply.problem?.guessesRemaining == 2)
    }
}

/// The results of `count` calls that run at the same time.
func inParallel<R: Sendable>(_ count: Int, _ body: @escaping @Sendable () async throws -> R) async throws -> [R] {
    try await withThrowingTaskGroup(of: R.self) { group in
        for _ in 0..<count { group.addTask { try await body() } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}
