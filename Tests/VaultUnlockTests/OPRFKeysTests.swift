import Foundation
import HTTPTypes
import KeyServiceAPI
import KeyServiceClient
import Testing
import VaultBase
import VaultHTTP
import VaultTesting

@testable import VaultCrypto

/// The derivations and requests of protocol version 2, with the values of the protocol's own file.
struct OPRFKeysTests {
    private let values: [String: String]

    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Vectors/oprf/protocol-v2.json").standardizedFileURL
        values = try JSONDecoder().decode([String: String].self, from: Data(contentsOf: file))
    }

    private func text(_ name: String) throws -> String { try #require(values[name]) }

    private func bytes(_ name: String) throws -> [UInt8] {
        let digits = Array(try text(name))
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            try #require(UInt8(String(digits[index...index + 1]), radix: 16))
        }
    }

    private func secret(_ name: String) throws -> SecretBytes { try SecretBytes(copying: bytes(name)) }

    private static func bytes(_ secret: borrowing SecretBytes) -> [UInt8] { secret.withUnsafeBytes { Array($0) } }

    @Test func `when a typed secret is derived, then published values match`() async throws {
        let (id, slot) = (try text("key_id"), try text("slot_id"))
        let stretched = try await Argon2id.derive(
            password: Password.opaqueString(SecretBytes(utf8: text("secret"))), salt: bytes("salt"),
            secret: secret("device_secret"), parameters: .init(passes: 3, memoryKiB: 65_536, lanes: 4), count: 64)
        #expect(Self.bytes(stretched) == (try bytes("stretched")))
        let requestKey = try OPRFDerivation.requestKey(from: secret("device_secret"), id: id)
        #expect(Self.bytes(requestKey) == (try bytes("request_key")))
        let blinding = try OPRF.blind(stretched, with: secret("blind"))
        #expect(blinding.element.bytes == (try bytes("blinded")))
        #expect(OPRFDerivation.ticket(id, blinding.element) == (try bytes("ticket_of_blinded")))
        let evaluated = try OPRF.evaluate(blinding.element, key: secret("oprf_key"))
        #expect(evaluated.bytes == (try bytes("evaluated")))
        let output = try OPRF.finalize(stretched, blinding, evaluated: evaluated)
        #expect(Self.bytes(output) == (try bytes("rwd")))
        let confirmKey = try OPRFDerivation.confirmKey(output, id: id)
        #expect(confirmKey.publicKey == (try bytes("confirm_key")))
        let endKey = try OPRFDerivation.endKey(secret("vault_key"), id: id)
        #expect(endKey.publicKey == (try bytes("end_key")))
        #expect(Self.bytes(try OPRFDerivation.slotKey(output, slotID: slot)) == (try bytes("slot_key")))
        let first = confirmKey.firstConfirmation(of: id, ticket: try bytes("ticket"), endKey: endKey)
        #expect(first.signature == (try bytes("confirm_signature")))
        #expect(first.installation?.endSignature == (try bytes("install_signature")))
        #expect(confirmKey.confirmation(of: id, tickets: [try bytes("ticket")]).signature == first.signature)
        #expect(endKey.end(of: id) == (try bytes("end_signature")))
    }

    @Test func `when the published answer arrives, then the client accepts it`() async throws {
        let (body, field) = (try text("answer_body"), try text("authentication_info"))
        let service = try HTTPOPRFKeyService(
            baseURL: "https://keys.example",
            transport: FakeTransport { _, _ in
                HTTPAnswer(
                    status: .ok, headerFields: [.contentType: "application/json", .authenticationInfo: field],
                    body: Array(body.utf8))
            })
        let answer = try await service.evaluate(
            text("key_id"), RistrettoElement(bytes("blinded")), requestKey: secret("request_key"),
            at: Date(timeIntervalSince1970: 1_700_000_000))
        #expect(answer.element.bytes == (try bytes("evaluated")))
    }

    @Test func `when the published identity signs, then its signatures match`() async throws {
        let identity = try SigningKey(seed: secret("identity_seed"))
        let next = try SigningKey(seed: SecretBytes(copying: Array(UInt8(0x80)..<0xa0)))
        let (id, blinded) = (try text("key_id"), try RistrettoElement(bytes("blinded")))
        let evaluated = try RistrettoElement(bytes("evaluated"))
        #expect(identity.publicKey == (try bytes("identity_key")))
        #expect(identity.created(id, blinded, evaluated) == (try bytes("created_signature")))
        #expect(identity.next(next.publicKey).signature == (try bytes("identity_link")))
        #expect(ServiceIdentity(key: identity.publicKey).fingerprint == (try text("fingerprint")))
        func encode(_ bytes: [UInt8]) -> String { Base64URL.encode(bytes) }
        let start = #"{"evaluated":"\#(encode(evaluated.bytes))","ticket":"\#(encode(try bytes("ticket_of_blinded")))""#
        let new = NewOPRFKey(
            id: id, requestKey: SharedSecret(try SecretBytes.random(count: 32)), endKey: [], blinded: blinded)
        func created(_ rest: String) async throws -> FirstEvaluation {
            let body = Array((start + rest + "}").utf8)
            let service = try HTTPOPRFKeyService(
                baseURL: "https://keys.example",
                transport: FakeTransport { _, _ in
                    HTTPAnswer(status: .ok, headerFields: [.contentType: "application/json"], body: body)
                })
            return try await service.createKey(new)
        }
        let key = encode(identity.publicKey)
        let signature = #","signature":"\#(encode(try bytes("created_signature")))""#
        let right = try await created(signature + #","identity":{"key":"\#(key)"}"#)
        #expect(try TrustedIdentities(known: [identity.publicKey]).check(right, of: new) == identity.publicKey)
        let older = try await created("")
        #expect(try TrustedIdentities().check(older, of: new) == nil)
        // Half of a proof is none, also at the first use.
        for rest in [signature, #","identity":{"key":"\#(key)"}"#] {
            let half = try await created(rest)
            #expect(throws: KeyServiceError.self) { try TrustedIdentities().check(half, of: new) }
        }
        let link = #"{"key":"\#(key)","signature":"\#(encode(try bytes("identity_link")))"}"#
        let long = Array(repeating: link, count: 33).joined(separator: ",")
        for identity in [
            "{}", #"{"key":""}"#, #"{"key":"\#(key)","chain":[\#(long)]}"#,
            #"{"key":"\#(key)","chain":[{"key":"\#(key)","signature":""}]}"#,
        ] {
            let error = await #expect(throws: KeyServiceError.self) { try await created(#","identity":\#(identity)"#) }
            #expect(error?.code == .invalidAnswer, "\(identity.prefix(60))")
        }
    }

    @Test func `when the client evaluates, then it sends the published request`() async throws {
        let sent = Lock<[(HTTPRequest, [UInt8])]>([])
        let transport = FakeTransport { request, body in
            sent.withLock { $0.append((request, body)) }
            return HTTPAnswer(status: .badGateway)
        }
        let service = try HTTPOPRFKeyService(baseURL: "https://keys.example/base/", transport: transport)
        let blinded = try RistrettoElement(bytes("blinded"))
        _ = try? await service.evaluate(
            text("key_id"), blinded, requestKey: secret("request_key"), at: Date(timeIntervalSince1970: 1_700_000_000.9)
        )
        let (request, body) = try #require(sent.withLock { $0.first })
        #expect(String(decoding: body, as: UTF8.self) == (try text("evaluate_body")))
        #expect(request.headerFields[.authorization] == (try text("authorization")))
        #expect(request.path == "/base/keyservice/v2/keys/\(try text("key_id"))/evaluate" && request.method == .post)
        #expect(request.headerFields[.contentType] == "application/json")
    }
}

/// The answers of a service over HTTP, also of a hostile one.
struct HTTPOPRFKeyServiceTests {
    private static let id = "0190f3a2-5b1c-4d7e-8a61-3c2f9e7d4b10"

    private func evaluate(
        _ status: HTTPResponse.Status, _ body: (_ blinded: RistrettoElement) throws -> String,
        contentType: String = "application/json", change: @escaping @Sendable (inout HTTPAnswer) -> Void = { _ in }
    ) async throws -> Result<Evaluation, any Error> {
        let blinding = try OPRF.blind(SecretBytes(utf8: "input"))
        let requestKey = SharedSecret(try SecretBytes.random(count: 32))
        let answer = HTTPAnswer(
            status: status, headerFields: [.contentType: contentType], body: Array(try body(blinding.element).utf8))
        let service = try HTTPOPRFKeyService(
            baseURL: "https://keys.example",
            transport: FakeTransport { request, _ in
                var answer = answer
                let sent = request.headerFields[.authorization]?.split(separator: ".").last.map(String.init) ?? ""
                let message = OPRFMessage.answer(
                    id: Self.id, code: Base64URL.decode(sent) ?? [], bodyHash: PublicHash.sha512(answer.body))
                let code = (try? RequestMAC.code(of: message, key: requestKey.bytes)) ?? []
                answer.headerFields[.authenticationInfo] = "mac=\(Base64URL.encode(code))"
                change(&answer)
                return answer
            })
        do {
            return .success(
                try await service.evaluate(Self.id, blinding.element, requestKey: requestKey.bytes, at: Date()))
        } catch {
            return .failure(error)
        }
    }

    private func answer(
        _ blinded: RistrettoElement, _ element: [UInt8], ticket: String? = nil, open: String? = nil, left: Int = 2
    ) -> String {
        let ticket = ticket ?? Base64URL.encode(OPRFDerivation.ticket(Self.id, blinded))
        let open = open ?? "[{\"ticket\":\"\(ticket)\",\"at\":1700000000}]"
        return
            "{\"evaluated\":\"\(Base64URL.encode(element))\",\"ticket\":\"\(ticket)\",\"guesses_remaining\":\(left),\"open\":\(open)}"
    }

    @Test func `when the answer is right, then its values are read`() async throws {
        let result = try await evaluate(.ok) { blinded in
            try answer(blinded, OPRF.evaluate(blinded, key: OPRF.randomKey()).bytes)
        }
        let evaluation = try result.get()
        #expect(evaluation.guessesRemaining == 2 && evaluation.open.map(\.ticket) == [evaluation.ticket])
        #expect(evaluation.open.map(\.date) == [Date(timeIntervalSince1970: 1_700_000_000)])
    }

    @Test func `when an answer is malformed or reflected, then evaluation fails`() async throws {
        let good = try OPRF.blind(SecretBytes(utf8: "other")).element.bytes
        var high = good
        high[31] |= 0x80
        let bodies: [(RistrettoElement) throws -> String] = [
            { answer($0, $0.bytes) }, { answer($0, [UInt8](repeating: 0, count: 32)) }, { answer($0, high) },
            { answer($0, [UInt8](repeating: 0xFF, count: 32)) }, { answer($0, Array(good.dropLast())) },
            { answer($0, good + [0]) }, { answer($0, good, ticket: "AAAA") }, { answer($0, good, open: "[]") },
            // The ticket of a thief's guess, which this client must not confirm.
            { answer($0, good, ticket: Base64URL.encode([UInt8](repeating: 7, count: 16))) },
            { answer($0, good, left: -1) }, { _ in "{}" }, { _ in "" },
            { answer($0, good).replacing("\"evaluated\":\"", with: "\"evaluated\":\"=") },
        ]
        for (number, body) in bodies.enumerated() {
            let result = try await evaluate(.ok, body)
            #expect(throws: KeyServiceError.self, "\(number)") { try result.get() }
            if case .failure(let error) = result {
                #expect((error as? KeyServiceError)?.code == .invalidAnswer, "\(number)")
            }
        }
        let page = try await evaluate(.ok, { answer($0, good) }, contentType: "text/html")
        #expect(throws: KeyServiceError.self) { try page.get() }
    }

    @Test(arguments: [
        (401, "unauthorized", KeyServiceError.Code.noSuchKey), (401, "clock", .clock), (403, "locked", .keyLocked),
        (409, "unfinished", .unfinished), (410, "ended", .keyEnded), (410, "revoked", .keyRevoked),
        (410, "destroyed", .keyDestroyed), (503, "busy", .busy), (429, "busy", .busy), (500, "failed", .unavailable),
        (409, "conflict", .invalidAnswer), (422, "invalid_element", .invalidAnswer), (400, "new_code", .invalidAnswer),
        (404, "no_such_path", .invalidAnswer), (403, "unauthorized", .invalidAnswer), (401, "nonsense", .invalidAnswer),
    ])
    func `when the service refuses, then each reason has a code`(
        status: Int, word: String, code: KeyServiceError.Code
    ) async throws {
        let body =
            "{\"type\":\"about:blank\",\"status\":\(status),\"title\":\"T\",\"code\":\"\(word)\",\"time\":1700000000}"
        let result = try await evaluate(
            .init(code: status), { _ in body }, contentType: "application/problem+json")
        guard case .failure(let error) = result, let refusal = error as? KeyServiceError else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.code == code)
        #expect(refusal.serviceTime == (code == .clock ? Date(timeIntervalSince1970: 1_700_000_000) : nil))
    }

    /// Somebody between client and service who has no request key.
    @Test(arguments: [
        (200, ""), (401, "clock"), (403, "locked"), (409, "unfinished"), (410, "ended"), (410, "revoked"),
    ])
    func `when an answer's authentication is wrong, then evaluation fails`(status: Int, word: String) async throws {
        let changes: [@Sendable (inout HTTPAnswer) -> Void] = [
            { $0.headerFields[.authenticationInfo] = nil },
            { $0.headerFields[.authenticationInfo] = "mac=" },
            { $0.headerFields[.authenticationInfo] = "mac=" + Base64URL.encode([UInt8](repeating: 0, count: 32)) },
            { $0.headerFields[.authenticationInfo]?.removeFirst() },
            { $0.body.append(UInt8(ascii: " ")) },
        ]
        for (number, change) in changes.enumerated() {
            let result = try await evaluate(
                .init(code: status),
                { blinded in
                    status == 200
                        ? try answer(
                            blinded, OPRF.evaluate(blinded, key: OPRF.randomKey()).bytes)
                        : "{\"type\":\"about:blank\",\"status\":\(status),\"title\":\"T\",\"code\":\"\(word)\",\"time\":1}"
                }, change: change)
            guard case .failure(let error) = result else {
                Issue.record("accepted: \(number)")
                continue
            }
            #expect((error as? KeyServiceError)?.code == .invalidAnswer, "\(number)")
        }
    }

    @Test func `when a proxy page arrives, then the answer is invalid`() async throws {
        for status in [401, 403, 410] {
            let result = try await evaluate(
                .init(code: status), { _ in "<html>" }, contentType: "text/html")
            guard case .failure(let error) = result else {
                Issue.record("accepted: \(status)")
                continue
            }
            #expect((error as? KeyServiceError)?.code == .invalidAnswer, "\(status)")
        }
    }

    private static let versionAnswers: [(Int, String, Set<Int>)] = [
        (200, "{\"versions\":[2,3]}", [2, 3]), (200, "<html>", []), (404, "{\"error\":\"no_such_path\"}", []),
        (405, "", []),
    ]

    @Test(arguments: [500, 502, 503, 504])
    func `when the service is down, then asking for versions fails`(status: Int) async throws {
        let service = try HTTPOPRFKeyService(
            baseURL: "https://keys.example",
            transport: FakeTransport { _, _ in HTTPAnswer(status: .init(code: status)) })
        await #expect(throws: KeyServiceError.self) { try await service.protocolVersions() }
    }

    @Test(arguments: versionAnswers)
    func `when the service names versions, then only a list counts`(
        status: Int, body: String, versions: Set<Int>
    ) async throws {
        let service = try HTTPOPRFKeyService(
            baseURL: "https://keys.example",
            transport: FakeTransport { _, _ in HTTPAnswer(status: .init(code: status), body: Array(body.utf8)) })
        #expect(try await service.protocolVersions() == versions)
    }

    @Test(arguments: [400, 401, 403])
    func `when another server refuses, then it is no key service`(status: Int) async throws {
        let body = Array("{\"error\":\"unknown\"}".utf8)
        let service = try HTTPKeyService(
            baseURL: "https://keys.example/typo",
            transport: FakeTransport { _, _ in HTTPAnswer(status: .init(code: status), body: body) })
        let error = await #expect(throws: KeyServiceError.self) {
            try await service.requireKeyService(mayBeVersion1: false)
        }
        #expect(error?.description.contains("There is no key service at https://keys.example/typo.") == true)
        // A service of version 1 may answer so, too.
        try await service.requireKeyService(mayBeVersion1: true)
    }

    @Test func `when a proxy refuses the path of version 1, then the service still counts`() async throws {
        let service = try HTTPKeyService(
            baseURL: "https://keys.example",
            transport: FakeTransport { request, _ in
                guard request.method == .get else { return HTTPAnswer(status: .forbidden, body: Array("<html>".utf8)) }
                return HTTPAnswer(status: .ok, body: Array("{\"versions\":[1,2]}".utf8))
            })
        try await service.requireKeyService(mayBeVersion1: false)
    }
}
