import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import KeyServiceAPI
import KeyServiceAudit
import KeyServiceCore
import KeyServiceServer
import KeyServiceTestSupport
import Logging
import NIOCore
import Testing
import VaultBase
import VaultCrypto

/// A secret of the form that our own clients send.
let strongSecret = "cv1." + String(repeating: "Ab3_-x9", count: 6) + "Z"
/// Another one.
let otherStrongSecret = "cv1." + String(repeating: "Cd4_-y8", count: 6) + "Z"

/// Runs a service for `body`. Argon2 for plain secrets costs almost nothing here.
func withService<R: Sendable>(
    _ opened: OpenedStore? = nil,
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, setup: TestingSetup = .router,
    basePath: String = "", maxGuesses: Int? = nil, maxGuessesTotal: Int? = nil, maxStretchingRequests: Int = 64,
    refusalsPerMinute: Int = 0,
    now: (@Sendable () -> Int64)? = nil, audit: AuditLog? = nil, owners: (any OwnerVerifier)? = nil,
    _ body: @escaping @Sendable (Client) async throws -> R
) async throws -> R {
    var configuration = KeyServiceServerConfiguration()
    configuration.argon2 = .insecureForTests
    configuration.basePath = basePath
    configuration.maxGuesses = maxGuesses
    configuration.maxGuessesTotal = maxGuessesTotal
    configuration.maxStretchingRequests = maxStretchingRequests
    configuration.refusalsPerMinute = refusalsPerMinute
    let store: OpenedStore
    if let opened { store = opened } else { store = try await .inMemory() }
    var operation = KeyServiceOperation()
    operation.audit = audit
    operation.owners = owners
    configuration.ownersMayUnlock = owners != nil
    let application = try await buildApplication(configuration, store, logger: logger, now: now, operation: operation)
    return try await application.test(setup) { client in
        try await body(
            Client { path, method, headers, content in
                let reply = try await client.execute(uri: path, method: method, headers: headers, body: content)
                return Reply(status: reply.status, headers: reply.headers, body: reply.body)
            })
    }
}

extension OpenedStore {
    /// A store that forgets everything when it ends.
    static func inMemory(_ masterKey: MasterKey? = nil) async throws -> OpenedStore {
        try await OpenedStore(InMemoryKeyRecordStore(), masterKeys: MasterKeys(masterKey ?? .random()))
    }
}

/// An answer, as a client sees it.
struct Reply: Sendable {
    let status: Int
    private let headers: HTTPFields
    let body: [UInt8]

    init(status: HTTPResponse.Status, headers: HTTPFields, body: ByteBuffer?) {
        self.status = status.code
        self.headers = headers
        self.body = body.map { Array($0.readableBytesView) } ?? []
    }

    func header(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { headers[$0] }
    }

    var key: KeyResponse? { try? JSONDecoder().decode(KeyResponse.self, from: Data(body)) }
    var problem: KeyServiceProblem? { try? JSONDecoder().decode(KeyServiceProblem.self, from: Data(body)) }
}

/// Calls a service over any connection.
struct Client: Sendable {
    typealias Send =
        @Sendable (String, HTTPRequest.Method, HTTPFields, ByteBuffer?) async throws -> Reply

    let send: Send

    func post(
        _ path: String, _ body: some Sequence<UInt8>, contentType: String? = "application/json",
        headers: HTTPFields = [:]
    ) async throws -> Reply {
        var headers = headers
        headers[.contentType] = contentType
        return try await send(path, .post, headers, ByteBuffer(bytes: body))
    }

    func createKey(_ secret: String) async throws -> KeyResponse {
        let reply = try await post(KeyServicePath.createKey, JSONEncoder().encode(CreateKeyRequest(secret: secret)))
        #expect(reply.status == 200)
        return try #require(reply.key)
    }

    /// - renews: with the header of a client that makes a new key when it hears of wrong guesses.
    func key(
        _ id: String, secret: String? = nil, longSecret: String? = nil, renews: Bool = false
    ) async throws -> Reply {
        let request = KeyRequest(keyid: id, secret: secret, longsecret: longSecret)
        let name = try #require(HTTPField.Name("Credential-Vault-Renews"))
        return try await post(
            KeyServicePath.key, JSONEncoder().encode(request), headers: renews ? [name: "1"] : [:])
    }

    func get(_ path: String) async throws -> Reply {
        try await send(path, .get, [:], nil)
    }
}

/// A folder that disappears with the value.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/key-service-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The folder in which data folders may be made.
    var data: String { path + "/data" }
}

func setMode(_ mode: Int, _ path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
}

func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
}

/// Keeps everything that is logged, at every level.
final class LogCapture: Sendable {
    private let lines = Lock<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }

    func makeLogger() -> Logger {
        Logger(label: "test") { _ in Handler(capture: self) }
    }

    private struct Handler: LogHandler {
        let capture: LogCapture
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = "\(event.level) \(event.message) \(metadata) \(event.metadata ?? [:])"
            capture.lines.withLock { $0.append(line) }
        }
    }
}
