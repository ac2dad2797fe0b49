import CredentialVault
import Foundation
import HTTPTypes
import KeyServiceClient
import Logging
import Testing
import VaultBase
import VaultDevelopment
import VaultTesting

/// The library's log: enough to follow events, and no secret at any level.
@Suite struct LogTests {
    /// The lines that several tasks wrote.
    private final class Book: Sendable {
        private let state = Lock<[String]>([])

        var lines: [String] { state.withLock { $0 } }

        func add(_ line: String) { state.withLock { $0.append(line) } }
    }

    /// Keeps every line.
    private struct Capture: LogHandler {
        let book: Book
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = "\(event.level) \(event.message) \(event.metadata ?? [:]) \(event.error.map { "\($0)" } ?? "")"
            book.add(line)
        }
    }

    /// Passes every message on, and keeps possible secrets: each value of header fields, forms and JSON.
    private final class Wiretap: HTTPTransport {
        private let base = AsyncHTTPTransport()
        private let heard = Lock<Set<String>>([])
        private static let harmless: Set<String> = [
            "application/json", "application/x-www-form-urlencoded", "credential-vault", "authorization_code",
            "refresh_token", "vault-cli", "no-store", "keep-alive", "openid profile email offline_access",
            "application/json; charset=utf-8",
        ]

        var secrets: Set<String> { heard.withLock { $0 } }

        func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
            note(request.headerFields)
            for pair in String(decoding: body, as: UTF8.self).split(separator: "&") {
                note(String(pair.split(separator: "=").last ?? "").removingPercentEncoding ?? "")
            }
            let answer = try await base.send(request, body: body, limits: limits)
            if let json = JSONValue(objectIn: answer.body), request.path?.contains("well-known") == false { note(json) }
            return answer
        }

        private func note(_ fields: HTTPFields) {
            for field in fields where field.name == .authorization {
                note(String(field.value.split(separator: " ").last ?? ""))
            }
        }

        private func note(_ json: JSONValue) {
            switch json {
            case .string(let text): note(text)
            case .array(let values): for value in values { note(value) }
            case .object(let members): for value in members.values { note(value) }
            default: break
            }
        }

        private func note(_ text: String) {
            let isURL = text.hasPrefix("http://")
            if text.count >= 8, !isURL, !Self.harmless.contains(text) { _ = heard.withLock { $0.insert(text) } }
        }
    }

    /// Keeps the secrets and keys that go through it.
    private struct KeyTap: KeyService {
        let base = InMemoryKeyService()
        let heard = Book()

        private func note(_ secret: borrowing SecretBytes) {
            let bytes = secret.withUnsafeBytes { Array($0) }
            heard.add(String(decoding: bytes, as: UTF8.self))
            heard.add(Data(bytes).base64EncodedString())
        }

        private func noted(_ key: consuming ReleasedKey) -> ReleasedKey {
            note(key.key)
            note(key.longSecret)
            heard.add(key.id)
            return key
        }

        func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
            note(secret)
            return noted(try await base.createKey(secret: secret))
        }

        func releaseKey(
            id: String, secret: borrowing SecretBytes, kind: KeySecretKind
        ) async throws -> ReleasedKey {
            note(secret)
            return noted(try await base.releaseKey(id: id, secret: secret, kind: kind))
        }

        func checkReachable() async throws { try await base.checkReachable() }
        func endKey(id: String) async throws { try await base.endKey(id: id) }
    }

    @Test func `when an account is used, then no secret is logged`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let (book, wiretap, keys) = (Book(), Wiretap(), KeyTap())
            var configuration = VaultConfiguration(
                issuer: provider.issuer, clientID: "vault-cli", keyServiceURL: "https://keys.example.com",
                argon2: .insecureForTests)
            configuration.logger = Logger(label: "test") { _ in Capture(book: book) }
            let vault = try await Vault(configuration, store: InMemoryStore(), keyService: keys, transport: wiretap)
            let (password, pin, wrong) = ("tea at half past four", "826413", "coffee at nine o'clock")
            try await live(vault, password: password, pin: pin, wrong: wrong)

            let account = try #require(try await vault.storage.all().first)
            var secrets = wiretap.secrets.union(keys.heard.lines).union([password, pin, wrong])
            secrets.insert(Data(account.deviceSecret).base64EncodedString())
            secrets.remove(account.id.subject)  // whom a line is about
            #expect(secrets.count > 12, "tokens, codes, keys and their ids")
            let log = book.lines
            for secret in secrets {
                #expect(!log.contains { $0.contains(secret) }, "\(log.filter { $0.contains(secret) })")
            }
            #expect(!log.contains { $0.contains("patients") }, "an app's paths tell of people")
            for text in [
                "info signing in", "info signed in", "token\": refresh token", "debug asking for an access token",
                "debug provider: asking", "notice the account was not opened", "wrongSecret",
                "debug the access token was refused", "info logged in", "info locked", "info logged out",
            ] { #expect(log.contains { $0.contains(text) }, "\(text) is not in\n\(log.joined(separator: "\n"))") }
        }
    }

    @Test func `when key services answer, then no key id is logged`() async throws {
        let book = Book()
        let id = UUID().uuidString.lowercased()
        let transport = FakeTransport { _, _ in HTTPAnswer(status: .unauthorized) }
        let service = HTTPKeyService(
            try KeyServiceEndpoint(
                baseURL: "https://keys.example.com", transport: transport, limits: HTTPLimits(),
                logger: Logger(label: "test") { _ in Capture(book: book) }))
        await #expect(throws: KeyServiceError.self) {
            _ = try await service.releaseKey(id: id, secret: AuthSecret.random(), kind: .secret)
        }
        #expect(book.lines.contains { $0.contains("key service: answered") && $0.contains("401") }, "\(book.lines)")
        #expect(!book.lines.contains { $0.contains(id) })
    }

    /// Registers, logs in with right and wrong passwords, refreshes, sends a refused request, locks and logs out.
    private func live(_ vault: Vault, password: String, pin: String, wrong: String) async throws {
        let token = try await vault.auth.performOpenIDConnectLogin(
            using: ScriptedBrowser(username: "alice", password: "alice-password"))
        let id = try await vault.storage.storeRefreshToken(token, withNewPassword: SecretBytes(utf8: password)).id
        try await vault.storage.setPIN(
            SecretBytes(utf8: pin), of: id, with: .password(SecretBytes(utf8: password)))
        await vault.auth.lock()
        _ = await failure { try await vault.auth.login(id, with: .password(SecretBytes(utf8: wrong))) }
        try await vault.auth.login(id, with: .pin(SecretBytes(utf8: pin)))
        _ = try await vault.auth.accessToken(forceRefresh: true)
        let api = try vault.auth.authorizedTransport(
            baseURL: "https://api.example.com/patients",
            over: FakeTransport { _, _ in HTTPAnswer(status: .unauthorized) })
        await #expect(throws: HTTPStatusError.self) { _ = try await api.send(.get, "1234") }
        try await vault.auth.logout()
    }
}
