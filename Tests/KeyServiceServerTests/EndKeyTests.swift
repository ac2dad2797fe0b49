import Foundation
import HTTPTypes
import KeyServiceAPI
import KeyServiceClient
import NIOCore
import Testing
import VaultBase
import VaultCrypto
import VaultHTTP

/// Our client against our server: ended keys, and the facts that a release reports.
@Suite struct EndKeyTests {
    // Row: the disk, after the key was ended
    @Test(arguments: [strongSecret, "1234"])
    func `when a key is ended, then no secret opens it`(secret: String) async throws {
        try await withService { client async throws in
            let service = try client.keyService()
            let made = try await service.createKey(secret: SecretBytes(utf8: secret))
            let id = made.id
            let text = made.longSecret.utf8String()
            let longSecret = try #require(text)
            for _ in 1...2 {
                try await service.endKey(id: id)
                #expect(try await client.key(id, secret: secret).status == 403)
                #expect(try await client.key(id, longSecret: longSecret).status == 403)
            }
        }
    }

    @Test func `when a key is unknown, then ending it succeeds`() async throws {
        try await withService { client async throws in
            try await client.keyService().endKey(id: "5d1b5b4e-0000-4000-8000-000000000000")
        }
    }

    @Test func `when the base path differs, then the end is uncertain`() async throws {
        try await withService(basePath: "/here") { client async throws in
            let service = try client.keyService(basePath: "/there")
            await expectUncertain { try await service.endKey(id: "5d1b5b4e-0000-4000-8000-000000000000") }
        }
    }

    @Test func `when guesses are many, then ending needs several calls`() async throws {
        try await withService(maxGuesses: 300, maxGuessesTotal: 1000) { client async throws in
            let service = try client.keyService()
            let made = try await client.createKey(strongSecret)
            for _ in 1...2 { await expectUncertain { try await service.endKey(id: made.keyid) } }
            try await service.endKey(id: made.keyid)
            #expect(try await client.key(made.keyid, secret: strongSecret).status == 403)
        }
    }

    @Test func `when a client renews, then wrong guesses are reported again`() async throws {
        let now: @Sendable () -> Int64 = { 1_700_000_000 }
        try await withService(now: now) { client async throws in
            let service = try client.keyService()
            let made = try await service.createKey(secret: SecretBytes(utf8: strongSecret))
            let id = made.id
            #expect(made.wrongGuesses == nil)
            _ = try await client.key(id, secret: "wrong")
            for _ in 1...2 {
                let released = try await service.releaseKey(
                    id: id, secret: SecretBytes(utf8: strongSecret), kind: .secret)
                let told = released.wrongGuesses
                #expect(told == WrongGuesses(count: 1, last: Date(timeIntervalSince1970: 1_700_000_000)))
            }
            // A request with a long secret never mentions renewal, and resets the count.
            let released = try await service.releaseKey(id: id, secret: made.longSecret, kind: .longSecret)
            #expect(released.wrongGuesses?.count == 1)
            let again = try await service.releaseKey(id: id, secret: made.longSecret, kind: .longSecret)
            #expect(again.wrongGuesses == nil)
        }
    }
}

/// Our client against services that misbehave.
@Suite(.timeLimit(.minutes(1))) struct HostileServiceTests {
    struct Behaviour: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The greatest number of calls.
        let calls: Int
        let answer: @Sendable (_ call: Int, _ isProbe: Bool) -> HTTPAnswer

        init(_ name: String, calls: Int, _ answer: @escaping @Sendable (Int, Bool) -> HTTPAnswer) {
            testDescription = name
            self.calls = calls
            self.answer = answer
        }
    }

    static let uncertain = [
        Behaviour("any secret is right", calls: 1) { _, _ in
            json(200, #"{"keyid":"k","key":"\#(Data(count: 32).base64EncodedString())","longsecret":"l"}"#)
        },
        Behaviour("401 for ever", calls: 128) { _, _ in HTTPAnswer(status: .unauthorized) },
        Behaviour("the same number is left for ever", calls: 2) { _, _ in json(401, left("2")) },
        Behaviour("more and more are left", calls: 2) { call, _ in json(401, left("\(call)")) },
        Behaviour("a huge number is left", calls: 128) { _, _ in json(401, left("9223372036854775808")) },
        Behaviour("less than none is left", calls: 128) { call, _ in json(401, left("-\(call)")) },
        Behaviour("no number is left", calls: 128) { _, _ in json(401, left(#""two""#)) },
        Behaviour("a number that falls for ever", calls: 128) { call, _ in json(401, left("\(1_000_000 - call)")) },
        Behaviour("a gateway's page that nothing is here", calls: 1) { _, _ in page(404) },
        Behaviour("a gateway that says so in JSON", calls: 2) { _, _ in json(404, #"{"message":"no Route matched"}"#) },
        Behaviour("a gateway that says so in words", calls: 2) { _, _ in
            HTTPAnswer(status: .notFound, headerFields: [.contentType: "text/plain"], body: Array("404".utf8))
        },
        Behaviour("a gateway that says nothing", calls: 2) { _, _ in HTTPAnswer(status: .notFound) },
        Behaviour("a firewall's page", calls: 3) { call, _ in call < 3 ? json(401, "{}") : page(403) },
        Behaviour("a firewall that says so in JSON", calls: 4) { call, _ in
            call < 3 ? json(401, "{}") : json(403, #"{"message":"Forbidden"}"#)
        },
        Behaviour("another base path", calls: 1) { _, _ in json(404, #"{"error":"no_such_path"}"#) },
        Behaviour("the word of another status", calls: 1) { _, _ in json(404, #"{"error":"key_locked"}"#) },
        Behaviour("too many requests", calls: 2) { call, _ in call < 2 ? json(401, "{}") : json(429, "{}") },
        Behaviour("busy", calls: 1) { _, _ in json(503, #"{"error":"busy"}"#) },
        Behaviour("a fault", calls: 1) { _, _ in json(500, "{}") },
        Behaviour("a bad request", calls: 1) { _, _ in json(400, "{}") },
        Behaviour("elsewhere", calls: 1) { _, _ in HTTPAnswer(status: .found) },
        Behaviour("nothing known", calls: 1) { _, _ in HTTPAnswer(status: .init(code: 799)) },
        Behaviour("a busy answer to the probe", calls: 2) { _, isProbe in json(isProbe ? 503 : 404, "{}") },
        Behaviour("a wrong method for the probe", calls: 2) { _, isProbe in json(isProbe ? 405 : 404, "{}") },
    ]

    static let certain = [
        Behaviour("locked at once", calls: 1) { _, _ in json(403, #"{"error":"key_locked"}"#) },
        Behaviour("locked after three", calls: 4) { call, _ in
            call < 4 ? json(401, left("\(3 - call)")) : json(403, #"{"error":"key_locked"}"#)
        },
        Behaviour("204 after some that say nothing", calls: 10) { call, _ in
            HTTPAnswer(status: call < 10 ? .unauthorized : .noContent)
        },
        Behaviour("another make's 403", calls: 3) { call, isProbe in
            isProbe ? HTTPAnswer(status: .badRequest) : HTTPAnswer(status: call < 2 ? .unauthorized : .forbidden)
        },
        Behaviour("another make's 404", calls: 2) { _, isProbe in json(isProbe ? 400 : 404, "{}") },
        Behaviour("no such key", calls: 1) { _, _ in json(404, #"{"error":"no_such_key"}"#) },
    ]

    @Test(arguments: uncertain)
    func `when a service misbehaves, then the end is uncertain`(_ behaviour: Behaviour) async throws {
        let transport = ScriptedTransport(answer: behaviour.answer)
        let service = try HTTPKeyService(baseURL: "https://keys.example", transport: transport)
        await expectUncertain { try await service.endKey(id: "k") }
        #expect(transport.calls == behaviour.calls)
    }

    @Test(arguments: certain)
    func `when the answers are credible, then the end is certain`(_ behaviour: Behaviour) async throws {
        let transport = ScriptedTransport(answer: behaviour.answer)
        try await HTTPKeyService(baseURL: "https://keys.example", transport: transport).endKey(id: "k")
        #expect(transport.calls == behaviour.calls)
        #expect(Set(transport.secrets).count == transport.secrets.count, "each guess is another")
        #expect(transport.secrets.allSatisfy { $0.wholeMatch(of: /cv1\.[A-Za-z0-9_-]{43}/) != nil })
    }

    @Test func `when no answer comes, then ending fails without a retry`() async throws {
        let transport = ScriptedTransport { _, _ in throw HTTPError(.timedOut, authority: "keys.example") }
        let service = try HTTPKeyService(baseURL: "https://keys.example", transport: transport)
        let error = await #expect(throws: KeyServiceError.self) { try await service.endKey(id: "k") }
        #expect(error?.code == .unavailable)
        #expect(transport.calls == 1)
    }

    @Test func `when ending is cancelled, then no further call is made`() async throws {
        let transport = ScriptedTransport { call, _ in
            if call == 5 { withUnsafeCurrentTask { $0?.cancel() } }
            return HTTPAnswer(status: .unauthorized)
        }
        let service = try HTTPKeyService(baseURL: "https://keys.example", transport: transport)
        await #expect(throws: CancellationError.self) { try await Task { try await service.endKey(id: "k") }.value }
        #expect(transport.calls == 5)
    }

    static let tellings: [(members: String, told: WrongGuesses?)] = [
        (
            #""wrongGuesses":2,"lastWrongGuessAt":1700000000"#,
            WrongGuesses(count: 2, last: .init(timeIntervalSince1970: 1.7e9))
        ),
        (#""wrongGuesses":1"#, WrongGuesses(count: 1, last: nil)),
        (
            #""wrongGuesses":2147483647,"lastWrongGuessAt":253402300799"#,
            WrongGuesses(count: 2_147_483_647, last: .init(timeIntervalSince1970: 253_402_300_799))
        ),
        (#""wrongGuesses":0,"lastWrongGuessAt":1"#, nil), (#""wrongGuesses":-1"#, nil),
        (#""wrongGuesses":2147483648"#, nil), (#""wrongGuesses":9223372036854775807"#, nil),
        (#""wrongGuesses":9223372036854775808"#, nil), (#""wrongGuesses":1e400"#, nil), (#""wrongGuesses":2.5"#, nil),
        (#""wrongGuesses":"2""#, nil), (#""wrongGuesses":null"#, nil), (#""wrongGuesses":[3]"#, nil),
        (#""wrongGuesses":true"#, nil), (#""lastWrongGuessAt":5"#, nil),
        (#""wrongGuesses":3,"lastWrongGuessAt":-1"#, WrongGuesses(count: 3, last: nil)),
        (#""wrongGuesses":3,"lastWrongGuessAt":253402300800"#, WrongGuesses(count: 3, last: nil)),
        (#""wrongGuesses":3,"lastWrongGuessAt":9223372036854775808"#, WrongGuesses(count: 3, last: nil)),
        (#""wrongGuesses":3,"lastWrongGuessAt":"yesterday""#, WrongGuesses(count: 3, last: nil)),
        (#""wrongGuesses":3,"lastWrongGuessAt":{}"#, WrongGuesses(count: 3, last: nil)),
    ]

    @Test(arguments: tellings)
    func `when wrong-guess reports are nonsense, then the key is released`(
        members: String, told: WrongGuesses?
    ) async throws {
        let key = Data(repeating: 7, count: 32).base64EncodedString()
        let transport = ScriptedTransport { _, _ in
            json(200, #"{"keyid":"k","key":"\#(key)","longsecret":"l",\#(members)}"#)
        }
        let service = try HTTPKeyService(baseURL: "https://keys.example", transport: transport)
        let released = try await service.releaseKey(id: "k", secret: SecretBytes(utf8: strongSecret), kind: .secret)
        let answer = (released.wrongGuesses, released.key.count)
        #expect(answer.0 == told)
        #expect(answer.1 == 32)
    }

    @Test func `when requests are sent, then only secrets request renewal`() async throws {
        let transport = ScriptedTransport { _, _ in HTTPAnswer(status: .unauthorized) }
        let service = try HTTPKeyService(baseURL: "https://keys.example", transport: transport)
        for kind in [KeySecretKind.secret, .longSecret] {
            _ = try? await service.releaseKey(id: "k", secret: SecretBytes(utf8: strongSecret), kind: kind)
        }
        _ = try? await service.createKey(secret: SecretBytes(utf8: strongSecret))
        let name = try #require(HTTPField.Name("Credential-Vault-Renews"))
        #expect(transport.headers.map { $0[name] } == ["1", nil, nil])
    }
}

private func expectUncertain(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: @Sendable () async throws -> Void
) async {
    let error = await #expect(throws: KeyServiceError.self, sourceLocation: sourceLocation) { try await body() }
    #expect([.unavailable, .invalidAnswer].contains(error?.code), sourceLocation: sourceLocation)
}

private func left(_ number: String) -> String { #"{"error":"wrong_secret","guessesRemaining":\#(number)}"# }

private func json(_ status: Int, _ body: String) -> HTTPAnswer {
    HTTPAnswer(
        status: .init(code: status), headerFields: [.contentType: "application/json"], body: Array(body.utf8))
}

private func page(_ status: Int) -> HTTPAnswer {
    HTTPAnswer(
        status: .init(code: status), headerFields: [.contentType: "text/html"], body: Array("<h1>No</h1>".utf8))
}

/// Gives the set answers, and records the requests.
private final class ScriptedTransport: HTTPTransport {
    private struct Asked {
        var bodies: [KeyRequest] = []
        var headers: [HTTPFields] = []
    }

    private let asked = Lock(Asked())
    private let answer: @Sendable (Int, Bool) throws -> HTTPAnswer

    init(answer: @escaping @Sendable (Int, Bool) throws -> HTTPAnswer) { self.answer = answer }

    var calls: Int { asked.withLock { $0.headers.count } }
    var headers: [HTTPFields] { asked.withLock { $0.headers } }
    var secrets: [String] { asked.withLock { $0.bodies.compactMap(\.secret) } }

    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        let decoded = try? JSONDecoder().decode(KeyRequest.self, from: Data(body))
        let call = asked.withLock { asked in
            asked.headers.append(request.headerFields)
            if let decoded { asked.bodies.append(decoded) }
            return asked.headers.count
        }
        return try answer(call, decoded?.keyid == "")
    }
}

extension Client {
    /// Our client, which sends its requests through this test client.
    fileprivate func keyService(basePath: String = "") throws -> HTTPKeyService {
        try HTTPKeyService(baseURL: "https://keys.example\(basePath)", transport: ClientTransport(client: self))
    }

    private struct ClientTransport: HTTPTransport {
        let client: Client

        func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
            let reply = try await client.send(
                request.path ?? "", request.method, request.headerFields, ByteBuffer(bytes: body))
            return HTTPAnswer(
                status: .init(code: reply.status),
                headerFields: [.contentType: reply.header("Content-Type") ?? ""], body: reply.body)
        }
    }
}
