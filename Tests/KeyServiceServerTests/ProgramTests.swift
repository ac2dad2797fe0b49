import Foundation
import HummingbirdTesting
import KeyServiceAPI
import Testing

@Suite(.timeLimit(.minutes(1))) struct ProgramTests {
    let temporary: TemporaryFolder
    let data: String

    init() async throws {
        temporary = try TemporaryFolder()
        data = temporary.data
        #expect(try await Program.run("init", "--data", data).exitCode == 0)
    }

    private func serve(_ arguments: String..., environment: [String: String] = [:]) async throws -> Program.Server {
        try await Program.Server(
            ["--data", data, "--listen", "127.0.0.1:0"] + arguments, environment: environment)
    }

    @Test func `when the data folder exists, then init fails`() async throws {
        let result = try await Program.run("init", "--data", data)
        #expect(result.exitCode == 78)
        #expect(result.errors.contains("not overwritten"))
        #expect(try mode(data + "-secrets/master.key") == 0o600)
        #expect(try mode(data) == 0o700)
    }

    @Test func `when a signal comes, then the server ends cleanly`() async throws {
        let server = try await serve("--base-path", "/auth/realms/demo")
        #expect(server.baseURL.hasSuffix("/auth/realms/demo"))
        let made = try await server.connect { client async throws in
            let made = try await client.createKey("1234")
            #expect(try await client.key(made.keyid, secret: "1234").key?.key == made.key)
            return made
        }
        #expect(await server.stop() == 0)
        let again = try await serve("--base-path", "/auth/realms/demo")
        let reply = try await again.connect { try await $0.key(made.keyid, secret: "1234") }
        #expect(reply.key?.key == made.key)
        #expect(await again.stop(SIGINT) == 0)
    }

    @Test(arguments: ["charged", "evaluated"])
    func `when a kill interrupts a guess, then the charge stays`(fault: String) async throws {
        let server = try await serve()
        let made = try await server.connect { try await $0.createKey(strongSecret) }
        #expect(await server.stop() == 0)
        for _ in 1...2 {
            let faulty = try await serve(environment: ["VAULT_KEY_SERVICE_FAULT": fault])
            // The connection breaks before an answer comes.
            let reply = try? await faulty.connect { try await $0.key(made.keyid, secret: strongSecret) }
            guard reply == nil else {
                Issue.record("The fault did not strike.")
                _ = await faulty.stop(SIGKILL)
                return
            }
            #expect(await faulty.program.waitForEnd() == -SIGKILL)
        }
        let last = try await serve()
        try await last.connect { client async throws in
            #expect(try await client.key(made.keyid, secret: otherStrongSecret).problem?.guessesRemaining == 0)
            #expect(try await client.key(made.keyid, secret: strongSecret).status == 403)
        }
        #expect(await last.stop() == 0)
    }

    /// The process ends after the right guess is settled and before the answer is sent. This is the last moment at
    /// which the answer can still be sent.
    @Test(arguments: [1, 2], [false, true])
    func `when a kill follows settling, then the right guess persists`(wrongGuesses: Int, renews: Bool) async throws {
        let faulty = try await serve(environment: ["VAULT_KEY_SERVICE_FAULT": "settled"])
        let made = try await faulty.connect { client async throws in
            let made = try await client.createKey(strongSecret)
            for _ in 1...wrongGuesses { _ = try await client.key(made.keyid, secret: otherStrongSecret) }
            return made
        }
        let reply = try? await faulty.connect { try await $0.key(made.keyid, secret: strongSecret, renews: renews) }
        #expect(reply == nil)
        #expect(await faulty.program.waitForEnd() == -SIGKILL)
        let server = try await serve()
        try await server.connect { client async throws in
            let reply = try await client.key(made.keyid, secret: strongSecret, renews: renews)
            #expect(reply.key?.key == made.key)
            #expect(reply.key?.wrongGuesses == (renews ? wrongGuesses : nil))
        }
        #expect(await server.stop() == 0)
    }

    /// If the first wrong guess locks the key, a charge that a right guess left behind would lock it too.
    @Test(arguments: [["--max-guesses", "1"], ["--max-guesses-total", "1"]])
    func `when one guess is allowed, then settling survives a kill`(limit: [String]) async throws {
        let arguments = ["--data", data, "--listen", "127.0.0.1:0"] + limit
        let faulty = try await Program.Server(arguments, environment: ["VAULT_KEY_SERVICE_FAULT": "settled"])
        let made = try await faulty.connect { try await $0.createKey(strongSecret) }
        _ = try? await faulty.connect { try await $0.key(made.keyid, secret: strongSecret) }
        #expect(await faulty.program.waitForEnd() == -SIGKILL)
        let server = try await Program.Server(arguments)
        let reply = try await server.connect { try await $0.key(made.keyid, secret: strongSecret) }
        #expect(reply.key?.key == made.key)
        #expect(await server.stop() == 0)
    }

    @Test func `when the total limit is reached, then unlocking restores guesses`() async throws {
        let server = try await serve("--max-guesses-total", "4")
        let made = try await server.connect { client async throws in
            let made = try await client.createKey(strongSecret)
            for _ in 1...2 {
                for _ in 1...2 { _ = try await client.key(made.keyid, secret: otherStrongSecret) }
                let isLast = try await client.key(made.keyid, secret: strongSecret).status == 403
                if isLast { return made }
            }
            Issue.record("The key is not locked.")
            return made
        }
        let listed = try await Program.run("keys", "list", "--data", data, "--json")
        let keys = try #require(try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [[String: Any]])
        let key = try #require(keys.first)
        #expect(key["locked"] as? Bool == true)
        #expect(key["wrongGuesses"] as? Int == 2)
        #expect(key["wrongGuessesInAll"] as? Int == 4)
        #expect(key["lastWrong"] is String)
        #expect(try await Program.run("keys", "list", "--data", data).output.contains("2 wrong"))
        #expect(try await Program.run("keys", "unlock", made.keyid, "--data", data).exitCode == 0)
        try await server.connect { client async throws in
            for remaining in [2, 1] {
                let reply = try await client.key(made.keyid, secret: otherStrongSecret)
                #expect(reply.problem?.guessesRemaining == remaining)
            }
        }
        #expect(await server.stop() == 0)
    }

    @Test func `when a key is logged, then its listed tag appears`() async throws {
        let server = try await serve()
        let made = try await server.connect { try await $0.createKey(strongSecret) }
        #expect(await server.stop() == 0)
        let listed = try await Program.run("keys", "list", "--data", data, "--json")
        let keys = try #require(try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [[String: Any]])
        let tag = try #require(keys.first?["keytag"] as? String)
        let log = server.errors
        #expect(log.contains(tag))
        #expect(!log.contains(made.keyid))
        // If systemd keeps the master key, the rest of the list still works without it.
        try FileManager.default.removeItem(atPath: data + "-secrets/master.key")
        let without = try await Program.run("keys", "list", "--data", data)
        #expect(without.exitCode == 0)
        #expect(without.output.contains(made.keyid) && without.output.contains("tag unknown"))
    }

    @Test func `when a server runs, then operators unlock and delete keys`() async throws {
        let server = try await serve()
        let made = try await server.connect { client async throws in
            let made = try await client.createKey(strongSecret)
            for _ in 1...3 { _ = try await client.key(made.keyid, secret: "wrong") }
            #expect(try await client.key(made.keyid, secret: strongSecret).status == 403)
            return made
        }
        let list = try await Program.run("keys", "list", "--data", data, "--json")
        let keys = try #require(try JSONSerialization.jsonObject(with: Data(list.output.utf8)) as? [[String: Any]])
        #expect(keys.count == 1)
        #expect(keys.first?["id"] as? String == made.keyid)
        #expect(keys.first?["locked"] as? Bool == true)
        #expect(keys.first?["guessesRemaining"] as? Int == 0)
        #expect(keys.first?["secret"] as? String == "strong")

        #expect(try await Program.run("keys", "unlock", made.keyid, "--data", data).exitCode == 0)
        try await server.connect { client async throws in
            #expect(try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining == 2)
            #expect(try await client.key(made.keyid, secret: strongSecret).key?.key == made.key)
        }
        #expect(try await Program.run("keys", "delete", made.keyid, "--data", data).exitCode == 0)
        let reply = try await server.connect { try await $0.key(made.keyid, secret: strongSecret) }
        #expect(reply.status == 404)
        #expect(try await Program.run("keys", "unlock", made.keyid, "--data", data).exitCode == 66)
        #expect(await server.stop() == 0)
    }

    @Test func `when a server runs, then a backup succeeds`() async throws {
        let server = try await serve()
        _ = try await server.connect { try await $0.createKey(strongSecret) }
        let path = temporary.path + "/backup.sqlite"
        #expect(try await Program.run("backup", "--data", data, "--to", path).exitCode == 0)
        #expect(try mode(path) == 0o600)
        #expect(try await Program.run("backup", "--data", data, "--to", path).exitCode == 78)
        #expect(await server.stop() == 0)
    }

    @Test func `when settings conflict, then options win over environment and file`() async throws {
        let config = temporary.path + "/config.json"
        let settings = #"{"data": "\#(data)", "listen": "127.0.0.1:0", "basePath": "/file", "maxGuesses": 1}"#
        try Data(settings.utf8).write(to: URL(fileURLWithPath: config))
        let environment = ["VAULT_KEY_SERVICE_BASE_PATH": "/environment"]
        let steps: [(arguments: [String], environment: [String: String], basePath: String)] = [
            ([], [:], "/file"), ([], environment, "/environment"),
            (["--base-path", "/option"], environment, "/option"),
        ]
        for step in steps {
            let server = try await Program.Server(
                ["--config", config] + step.arguments, environment: step.environment)
            #expect(server.basePath == step.basePath)
            let reply = try await server.connect { client async throws in
                try await client.key(client.createKey(strongSecret).keyid, secret: "wrong")
            }
            #expect(reply.problem?.guessesRemaining == 0, "maxGuesses comes from the file")
            #expect(await server.stop() == 0)
        }
    }

    @Test(arguments: [
        (["--listen", "0.0.0.0:0"], "reverse proxy"), (["--listen", "192.0.2.1:0"], "reverse proxy"),
        (["--listen", "[::]:0"], "reverse proxy"), (["--listen", "nonsense"], "HOST:PORT"),
        (["--base-path", "demo"], "base path"), (["--max-guesses", "0"], "guesses"),
        (["--max-guesses-total", "0"], "in all"),
        (["--config", "/nonexistent.json"], "/nonexistent.json"), (["--log-level", "loud"], "loud"),
        (["--data", "/nonexistent"], "init"),
    ]) func `when a setting is bad, then serve names the problem`(arguments: [String], word: String) async throws {
        let folder = arguments.contains("--data") ? [] : ["--data", data]
        let result = try await Program.run(arguments: ["serve"] + folder + arguments)
        #expect(result.exitCode == 78)
        #expect(result.errors.contains(word))
        #expect(result.output.isEmpty)
    }

    @Test func `when a setting has the wrong type, then serve fails`() async throws {
        let result = try await Program.run(
            "serve", "--data", data, environment: ["VAULT_KEY_SERVICE_MAX_GUESSES": "three"])
        #expect(result.exitCode == 78)
        #expect(result.errors.contains("maxGuesses"))
    }

    @Test func `when systemd supplies the master key, then the server starts`() async throws {
        let credentials = temporary.path + "/credentials"
        try FileManager.default.createDirectory(atPath: credentials, withIntermediateDirectories: false)
        try FileManager.default.moveItem(atPath: data + "-secrets/master.key", toPath: credentials + "/master.key")
        // systemd grants access with an access list, which shows as group permissions.
        try setMode(0o440, credentials + "/master.key")
        let server = try await serve(environment: ["CREDENTIALS_DIRECTORY": credentials])
        #expect(await server.stop() == 0)
        #expect(try await Program.run("serve", "--data", data, "--listen", "127.0.0.1:0").exitCode == 78)
    }
}
