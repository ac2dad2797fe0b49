import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import Testing
import VaultDevelopment

@Suite struct LifetimeTests {
    @Test func `when the provider stops, then its port is free`() async throws {
        let provider = try await DevelopmentIdentityProvider.start()
        // One idle connection, and one in the middle of a request.
        let idle = try await connect(to: provider.port)
        let busy = try await connect(to: provider.port)
        try await busy.writeAndFlush(
            ByteBuffer(string: "POST /token HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf"))
        await provider.stop()
        try await idle.closeFuture.get()
        try await busy.closeFuture.get()
        var options = DevelopmentIdentityProvider.Options()
        options.port = provider.port
        let next = try await DevelopmentIdentityProvider.start(options)
        #expect(next.issuer == provider.issuer)
        await next.stop()
        await next.stop()
    }

    @Test func `when a request is delayed, then the provider still stops`() async throws {
        let provider = try await DevelopmentIdentityProvider.start()
        await provider.setFault(.delay)
        let client = ProviderClient(provider)
        async let answer = client.refresh("x")
        await provider.waitUntilDelayed()
        await provider.stop()
        _ = try? await answer
        await #expect(throws: (any Error).self) { try await client.refresh("x") }
    }

    @Test func `when port or address is unusable, then starting fails`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            var options = DevelopmentIdentityProvider.Options()
            options.port = provider.port
            let inUse = await #expect(throws: VaultDevelopmentError.self) {
                try await DevelopmentIdentityProvider.start(options)
            }
            #expect(inUse?.code == .addressInUse)
            #expect(inUse?.description.contains("\(provider.port)") == true)
            options.host = "0.0.0.0"
            let foreign = await #expect(throws: VaultDevelopmentError.self) {
                try await DevelopmentIdentityProvider.start(options)
            }
            #expect(foreign?.code == .invalidOption)
        }
    }

    @Test func `when a state file exists, then tokens survive a restart`() async throws {
        try await withTemporaryFolder { folder in
            var options = DevelopmentIdentityProvider.Options()
            options.stateFile = "\(folder)/provider.json"
            let before = try await DevelopmentIdentityProvider.start(options)
            let client = ProviderClient(before)
            let first = try await client.login()
            let second = try await client.refresh(first["refresh_token"])
            let keys = try await client.get("\(before.issuer)/jwks").body
            await before.stop()

            let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/provider.json")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["provider.json"])

            options.port = before.port
            try await withDevelopmentIdentityProvider(options) { provider in
                #expect(provider.issuer == before.issuer)
                #expect(try await client.get("\(provider.issuer)/jwks").body == keys)
                let third = try await client.refresh(second["refresh_token"])
                #expect(third.status == 200)
                #expect(try await client.refresh(first["refresh_token"])["error"] == "invalid_grant")
                #expect(try await client.refresh(third["refresh_token"])["error"] == "invalid_grant")
            }
        }
    }

    @Test func `when a state file is damaged, then starting fails`() async throws {
        try await withTemporaryFolder { folder in
            var options = DevelopmentIdentityProvider.Options()
            options.stateFile = "\(folder)/provider.json"
            try Data("{\"version\":1".utf8).write(to: URL(filePath: "\(folder)/provider.json"))
            let error = await #expect(throws: VaultDevelopmentError.self) {
                try await DevelopmentIdentityProvider.start(options)
            }
            #expect(error?.code == .stateFileUnusable)
            #expect(try String(contentsOfFile: "\(folder)/provider.json", encoding: .utf8) == "{\"version\":1")
            options.stateFile = "\(folder)/missing/provider.json"
            let missing = await #expect(throws: VaultDevelopmentError.self) {
                try await DevelopmentIdentityProvider.start(options)
            }
            #expect(missing?.code == .stateFileUnusable)
        }
    }

    private func connect(to port: Int) async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connect(host: "127.0.0.1", port: port)
            .get()
    }
}

/// A folder that is removed afterwards.
func withTemporaryFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vault-testing-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path())
}
