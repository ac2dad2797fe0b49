import CredentialVault
import HTTPTypes
import Testing
import VaultBase
import VaultTesting

/// The time limits of the vault for each server.
@Suite struct TimeLimitTests {
    /// Refuses every request, and remembers its time limit.
    private final class Stopwatch: HTTPTransport {
        private let seen = Lock<[String: HTTPLimits]>([:])

        func limits(of host: String) -> HTTPLimits? { seen.withLock { $0[host] } }

        func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
            seen.withLock { $0[request.authority ?? ""] = limits }
            throw HTTPError(.notConnected, authority: request.authority ?? "")
        }
    }

    private func vault(_ transport: any HTTPTransport, _ limits: TimeLimits) async throws -> Vault {
        var configuration = VaultConfiguration(
            issuer: "https://login.example.com", clientID: "app", keyServiceURL: "https://keys.example.com")
        configuration.limits = limits
        return try await Vault(configuration, store: InMemoryStore(), transport: transport)
    }

    @Test func `when limits are set, then each server has its own`() async throws {
        var limits = TimeLimits()
        (limits.connect, limits.identityProvider, limits.keyService) = (.seconds(2), .seconds(3), .seconds(4))
        let stopwatch = Stopwatch()
        let vault = try await vault(stopwatch, limits)
        await #expect(throws: VaultError.self) { try await vault.storage.checkReady() }
        await #expect(throws: VaultError.self) { _ = try await vault.auth.offersDeviceSignIn() }
        let api = try vault.auth.authorizedTransport(baseURL: "https://api.example.com")
        _ = try await vault.auth.setTokens(access: "access", refresh: "refresh", expiresIn: .seconds(300), subject: "a")
        await #expect(throws: HTTPError.self) { _ = try await api.send(.get, "") }
        let (keys, provider) = (stopwatch.limits(of: "keys.example.com"), stopwatch.limits(of: "login.example.com"))
        #expect(keys?.connect == .seconds(2) && keys?.exchange == .seconds(4))
        #expect(provider?.connect == .seconds(2) && provider?.exchange == .seconds(3))
        #expect(stopwatch.limits(of: "api.example.com")?.exchange == HTTPLimits().exchange)
    }

    @Test func `when a limit makes no sense, then it is refused`() async throws {
        let wrong: [(inout TimeLimits) -> Void] = [
            { $0.connect = .zero }, { $0.connect = .seconds(61) }, { $0.identityProvider = .milliseconds(999) },
            { $0.keyService = .seconds(601) },
        ]
        for change in wrong {
            var limits = TimeLimits()
            change(&limits)
            let error = await failure { _ = try await vault(Stopwatch(), limits) }
            #expect(error?.code == .configurationInvalid)
        }
    }
}
