import Foundation
import NIOCore
import NIOPosix
import Testing
import VaultDevelopment

@Suite(.timeLimit(.minutes(2))) struct VaultDevTests {
    @Test(arguments: [SIGINT, SIGTERM])
    func `when a signal comes, then vault-dev cleans up`(signal: Int32) async throws {
        try await withTemporaryFolder { folder in
            let file = "\(folder)/environment"
            let program = try VaultDevProcess(["--env-file", file, "--access-token-lifetime", "42"], temporary: folder)
            let environment = try await program.environment()
            #expect(
                environment.keys.sorted() == [
                    "CREDENTIAL_VAULT_CLIENT_ID", "CREDENTIAL_VAULT_ISSUER", "CREDENTIAL_VAULT_KEY_SERVICE",
                ])
            #expect(environment["CREDENTIAL_VAULT_CLIENT_ID"] == "vault-cli")
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
                #expect(environment.contains { line == "export \($0.key)='\($0.value)'" })
            }

            let client = ProviderClient(issuer: try #require(environment["CREDENTIAL_VAULT_ISSUER"]))
            let tokens = try await client.login(as: "bob")
            #expect(tokens.json["expires_in"] as? Int == 42)
            let keyService = ProviderClient(issuer: try #require(environment["CREDENTIAL_VAULT_KEY_SERVICE"]))
            let key = try await keyService.post(
                "/keyservice/v1/createkey", raw: #"{"secret":"12345678"}"#, type: "application/json")
            #expect(key["keyid"]?.isEmpty == false)

            // On each server, a connection in the middle of a request must not keep the program alive.
            let open = [
                try await half(of: client, "/token", "application/x-www-form-urlencoded"),
                try await half(of: keyService, "/keyservice/v1/key", "application/json"),
            ]
            program.signal(signal)
            let end = await program.end()
            #expect(end.status == 0)
            #expect(end.errors.contains("alice"))
            #expect(!end.errors.contains("Error"))
            #expect(try FileManager.default.subpathsOfDirectory(atPath: folder) == [])
            for channel in open { try await channel.closeFuture.get() }
        }
    }

    @Test(arguments: [["--listen"], ["--key-service-listen"], ["--backend", "--backend-listen"]])
    func `when a port is in use, then vault-dev leaves nothing`(options: [String]) async throws {
        try await withTemporaryFolder { folder in
            try await withDevelopmentIdentityProvider { occupant in
                let program = try VaultDevProcess(
                    options + ["127.0.0.1:\(occupant.port)", "--env-file", "\(folder)/environment"],
                    temporary: folder)
                let end = await program.end()
                #expect(end.status == 1)
                #expect(end.output.isEmpty)
                #expect(end.errors.contains("127.0.0.1:\(occupant.port)"))
                #expect(end.errors.contains(options[options.count - 1]))
                #expect(try FileManager.default.subpathsOfDirectory(atPath: folder) == [])
            }
        }
    }

    @Test(arguments: [
        ["--listen", "0.0.0.0:0"], ["--key-service-listen", "192.0.2.1:80"], ["--listen", "127.0.0.1:70000"],
        ["--listen", "127.0.0.1"], ["--access-token-lifetime", "0"],
        ["--device-interval", "3601"], ["--backend-listen", "127.0.0.1:0"], ["--backend-token-lifetime", "0"],
        ["--backend", "--backend-without-refresh"],
        ["--backend-code", "123456"], ["--backend", "--backend-refresh-limit=-1"],
    ])
    func `when an option is invalid, then vault-dev reports wrong usage`(arguments: [String]) async throws {
        try await withTemporaryFolder { folder in
            let end = await (try VaultDevProcess(arguments, temporary: folder)).end()
            #expect(end.status == 64)
            #expect(["must be", "need --backend", arguments[1]].contains(where: end.errors.contains))
            #expect(end.output.isEmpty)
            #expect(try FileManager.default.subpathsOfDirectory(atPath: folder) == [])
        }
    }

    @Test func `when a data folder is used, then accounts survive SIGKILL`() async throws {
        try await withTemporaryFolder { folder in
            let arguments = ["--data", "\(folder)/data", "--env-file", "\(folder)/environment"]
            let first = try VaultDevProcess(arguments, temporary: folder)
            let environment = try await first.environment()
            let client = ProviderClient(issuer: try #require(environment["CREDENTIAL_VAULT_ISSUER"]))
            let tokens = try await client.login()
            let keyService = ProviderClient(issuer: try #require(environment["CREDENTIAL_VAULT_KEY_SERVICE"]))
            let key = try await keyService.post(
                "/keyservice/v1/createkey", raw: #"{"secret":"12345678"}"#, type: "application/json")

            // Meanwhile no other program may use the folder.
            let second = await (try VaultDevProcess(arguments, temporary: folder)).end()
            #expect(second.status == 1)
            #expect(second.errors.contains("Another vault-dev uses the folder"))

            first.signal(SIGKILL)
            _ = await first.end()
            let third = try VaultDevProcess(arguments, temporary: folder)
            #expect(try await third.environment() == environment)
            #expect(try await client.refresh(tokens["refresh_token"]).status == 200)
            let again = try await keyService.post(
                "/keyservice/v1/key", raw: #"{"keyid":"\#(key["keyid"] ?? "")","secret":"12345678"}"#,
                type: "application/json")
            #expect(again["key"] == key["key"])
            third.signal(SIGTERM)
            #expect(await third.end().status == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["data"])
        }
    }

    @Test func `when the backend is enabled, then provider tokens work`() async throws {
        try await withTemporaryFolder { folder in
            let arguments = [
                "--data", "\(folder)/data", "--backend", "--backend-token-lifetime", "42", "--backend-redirect-uri",
                "myapp://callback",
            ]
            let program = try VaultDevProcess(arguments, temporary: folder)
            let environment = try await program.environment(lines: 4)
            let url = try #require(environment["CREDENTIAL_VAULT_DEV_BACKEND"])
            let backend = ProviderClient(issuer: url)
            #expect(try await backend.get("\(url)/auth/login?redirect_uri=myapp://callback").status == 200)
            let login = try await backend.post(
                "/auth/login", raw: #"{"email":"bob@example.com","password":"bob-password"}"#,
                type: "application/json")
            let token = try #require(login["accessToken"])
            let contents = try claims(of: token)
            #expect((contents["exp"] as? Int ?? 0) - (contents["iat"] as? Int ?? 0) == 42)
            let client = ProviderClient(issuer: try #require(environment["CREDENTIAL_VAULT_ISSUER"]))
            let tokens = try await client.login()
            #expect(try await backend.get("\(url)/api/items", bearer: tokens["access_token"])["username"] == "alice")
            program.signal(SIGTERM)
            let end = await program.end()
            #expect(end.status == 0)
            #expect(end.errors.contains("a backend"))

            // The folder is found again in the same place.
            let again = try VaultDevProcess(arguments, temporary: folder)
            #expect(try await again.environment(lines: 4) == environment)
            again.signal(SIGTERM)
            #expect(await again.end().status == 0)
        }
    }

    @Test func `when switches are set, then the provider follows them`() async throws {
        try await withTemporaryFolder { folder in
            let program = try VaultDevProcess(
                [
                    "--device-interval", "1", "--no-registration", "--no-oauth-metadata", "--password-grant", "--par",
                    "required", "--dpop", "offered", "--dpop-nonce",
                ],
                temporary: folder)
            let client = ProviderClient(
                issuer: try #require(try await program.environment()["CREDENTIAL_VAULT_ISSUER"]))
            let metadata = try await client.get("\(client.issuer)/.well-known/openid-configuration")
            #expect(metadata["registration_endpoint"] == nil)
            #expect((metadata.json["grant_types_supported"] as? [String])?.contains("password") == true)
            #expect(try await client.get("\(client.issuer)/.well-known/oauth-authorization-server").status == 404)
            #expect(metadata.json["require_pushed_authorization_requests"] as? Bool == true)
            #expect(metadata.json["dpop_signing_alg_values_supported"] != nil)
            #expect(try await client.refresh("x").headers["dpop-nonce"] != nil)
            let device = try await client.post(
                "/device_authorization", ["client_id": "vault-cli", "scope": "openid"])
            #expect(device.json["interval"] as? Int == 1)
            let browser = try VaultDevProcess(
                [
                    "browse", try #require(device["verification_uri"]), "--user", "bob", "--user-code",
                    try #require(device["user_code"]),
                ], temporary: folder)
            let end = await browser.end()
            #expect(end.status == 0)
            #expect(end.output == "The device is connected. You can close this page.\n")
            program.signal(SIGTERM)
            #expect(await program.end().status == 0)
        }
    }

    @Test func `when the password is wrong, then browse reports it`() async throws {
        try await withTemporaryFolder { folder in
            try await withDevelopmentIdentityProvider { provider in
                let url = ProviderClient(provider).authorizationURL()
                try Data("wrong\n".utf8).write(to: URL(filePath: "\(folder)/password"))
                let program = try VaultDevProcess(
                    ["browse", url, "--user", "alice", "--password-file", "\(folder)/password"], temporary: folder)
                let end = await program.end()
                #expect(end.status == 1)
                #expect(end.errors.contains("The username or the password is wrong."))
                #expect(await provider.requests.last?.outcome == .wrongPassword)
            }
        }
    }

    /// A connection on which half a request was sent.
    private func half(of client: ProviderClient, _ path: String, _ type: String) async throws -> any Channel {
        let port = try #require(URL(string: client.issuer)?.port)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get()
        try await channel.writeAndFlush(
            ByteBuffer(
                string: "POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Type: \(type)\r\nContent-Length: 100\r\n\r\nh"))
        return channel
    }
}
