import Foundation
import HummingbirdTesting
import KeyServiceAPI
import KeyServiceAudit
import KeyServiceCore
import Testing

@Suite struct WireTests {
    @Test(arguments: [strongSecret, "1234", "pässwörd 🗝️", "cv1.short"])
    func `when secret or long secret is right, then keys match`(secret: String) async throws {
        try await withService { client async throws in
            let made = try await client.createKey(secret)
            #expect(Data(base64Encoded: made.key)?.count == 32)
            #expect(made.longsecret.wholeMatch(of: /[A-Za-z0-9_-]{43}/) != nil)
            for reply in [
                try await client.key(made.keyid, secret: secret),
                try await client.key(made.keyid, longSecret: made.longsecret),
            ] {
                #expect(reply.status == 200)
                #expect(reply.key?.keyid == made.keyid)
                #expect(reply.key?.key == made.key)
                #expect(reply.key?.longsecret == made.longsecret)
                #expect(reply.header("Cache-Control") == "no-store")
            }
        }
    }

    @Test func `when two keys are made, then all their values differ`() async throws {
        try await withService { client async throws in
            let first = try await client.createKey(strongSecret)
            let second = try await client.createKey(strongSecret)
            #expect(first.keyid != second.keyid)
            #expect(first.key != second.key)
            #expect(first.longsecret != second.longsecret)
            #expect(try await client.key(second.keyid, longSecret: first.longsecret).status == 401)
        }
    }

    @Test func `when a key is unknown, then the answer is 404`() async throws {
        try await withService { client async throws in
            let reply = try await client.key(UUID().uuidString, secret: "1234")
            #expect(reply.status == 404)
            #expect(reply.problem?.error == "no_such_key")
            #expect(reply.header("Cache-Control") == "no-store")
        }
    }

    @Test(arguments: ["/auth/realms/demo", "/auth/realms/demo/"])
    func `when a base path is set, then requests need it`(path: String) async throws {
        try await withService(basePath: path) { client async throws in
            let body = Array(#"{"secret":"1234"}"#.utf8)
            #expect(try await client.post("/auth/realms/demo" + KeyServicePath.createKey, body).status == 200)
            #expect(try await client.post(KeyServicePath.createKey, body).status == 404)
            #expect(try await client.get("/auth/realms/demo/healthz").status == 200)
            #expect(try await client.get("/healthz").status == 200)
            #expect(try await client.get("/readyz").status == 200)
        }
    }

    @Test func `when the method is GET, then the answer is 405`() async throws {
        try await withService { client async throws in
            for path in [KeyServicePath.createKey, KeyServicePath.key] {
                let reply = try await client.get(path)
                #expect(reply.status == 405)
                #expect(reply.header("Allow") == "POST")
            }
        }
    }

    @Test func `when the connection is real, then a key is released`() async throws {
        try await withService(setup: .ahc(.http)) { client async throws in
            let made = try await client.createKey("1234")
            #expect(try await client.key(made.keyid, secret: "1234").key?.key == made.key)
            #expect(try await client.get("/readyz").status == 200)
        }
    }
}
