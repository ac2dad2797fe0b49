import Foundation
import KeyServiceAPI
import KeyServiceClient
import VaultBase
import VaultCrypto
import VaultTesting

@testable import KeyServiceCore
@testable import KeyServiceSQLite

/// The real key service with a database on the disk, without HTTP around it. It keeps all calls and answers, as a
/// machine does that ends TLS in front of it.
final class RealKeyService: KeyService, OPRFKeyService {
    /// What the traffic of version 1 shows.
    struct Released: Sendable {
        let id: String
        let secret: [UInt8]
        let key: [UInt8]
    }

    /// What the traffic of version 2 shows of a guess.
    struct Evaluated: Sendable {
        let id: String
        let blinded: RistrettoElement
        let evaluated: RistrettoElement
    }

    struct Traffic: Sendable {
        var calls = 0
        var released: [Released] = []
        var evaluated: [Evaluated] = []
        var confirmations: [KeyConfirmation] = []
    }

    /// The database, the master key and the high-water mark.
    let folder: KeyServiceFolder
    private let opened: OpenedStore
    private let first: KeyKeeper
    private let second: OPRFKeeper
    private let recorded = Lock(Traffic())
    private var deadline: ContinuousClock.Instant { .now + .seconds(600) }

    var traffic: Traffic { recorded.withLock { $0 } }

    init(path: String, clock: ManualClock) async throws {
        folder = KeyServiceFolder(path: path)
        opened = try await folder.openCreatingIfAbsent()
        let (commits, now) = (GroupCommit(store: opened.store), { @Sendable in Int64(clock.now.timeIntervalSince1970) })
        first = KeyKeeper(
            masterKeys: opened.masterKeys, commits: commits, stretching: StretchingPool(threads: 1, maxRequests: 1),
            argon2: .insecureForTests, now: now)
        second = try OPRFKeeper(masterKeys: opened.masterKeys, commits: commits, now: now)
    }

    func close() { opened.store.close() }

    // MARK: - Version 1

    func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
        let text = Self.text(secret)
        return try released(
            await answered { try await self.first.createKey(secret: text, deadline: self.deadline) }, for: text)
    }

    func releaseKey(id: String, secret: borrowing SecretBytes, kind: KeySecretKind) async throws -> ReleasedKey {
        let text = Self.text(secret)
        let guess = kind == .secret ? KeyKeeper.Guess.secret(text, renews: true) : .longSecret(text)
        let response = try await answered {
            try await self.first.releaseKey(keyID: id, for: guess, deadline: self.deadline)
        }
        return try released(response, for: text)
    }

    func checkReachable() async throws {}

    /// Ends a key as the client does: with wrong secrets.
    func endKey(id: String) async throws {
        while true {
            do {
                _ = try await releaseKey(id: id, secret: AuthSecret.random(), kind: .secret)
            } catch let error as KeyServiceError where error.code != .wrongSecret {
                return
            } catch is KeyServiceError {}
        }
    }

    // MARK: - Version 2

    func protocolVersions() async throws -> Set<Int> { [2] }

    func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation {
        let request = CreateOPRFKeyRequest(
            id: key.id, requestKey: key.requestKey.bytes.withUnsafeBytes { Array($0) }, endKey: key.endKey,
            blinded: key.blinded.bytes, label: key.label)
        let answer = try await answered { try await self.second.create(request, deadline: self.deadline) }
        let element = try RistrettoElement(answer.evaluated.bytes)
        note(key.id, key.blinded, element)
        return FirstEvaluation(element: element, ticket: answer.ticket.bytes)
    }

    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        let seconds = Int64(date.timeIntervalSince1970)
        let message = OPRFMessage.evaluate(id: id, seconds: String(seconds), bodyHash: blinded.bytes)
        let authorization = OPRFAuthorization(
            seconds: seconds, code: try RequestMAC.code(of: message, key: requestKey), message: message)
        let answer = try await answered {
            try await self.second.evaluate(
                id: id, blinded: blinded.bytes, authorization: authorization, deadline: self.deadline
            ).result.get()
        }
        let element = try RistrettoElement(answer.evaluated)
        note(id, blinded, element)
        return Evaluation(
            element: element, ticket: answer.opened.ticket, guessesRemaining: answer.guessesRemaining,
            open: answer.open.map { .init(ticket: $0.ticket, date: Date(timeIntervalSince1970: Double($0.openedAt))) })
    }

    func confirm(_ confirmation: KeyConfirmation) async throws {
        recorded.withLock { $0.confirmations.append(confirmation) }
        let request = ConfirmRequest(
            tickets: confirmation.tickets, signature: confirmation.signature,
            confirmKey: confirmation.installation?.confirmKey, endSignature: confirmation.installation?.endSignature)
        try await answered { try await self.second.confirm(id: confirmation.id, request, deadline: self.deadline) }
    }

    func endKey(id: String, signature: [UInt8]) async throws {
        try await answered { try await self.second.end(id: id, signature: signature, deadline: self.deadline) }
    }

    // MARK: - The parts

    private static func text(_ secret: borrowing SecretBytes) -> String {
        secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    private func released(_ response: KeyResponse, for secret: String) throws -> ReleasedKey {
        let key = Array(Data(base64Encoded: response.key) ?? Data())
        recorded.withLock { $0.released.append(.init(id: response.keyid, secret: Array(secret.utf8), key: key)) }
        return try ReleasedKey(
            id: response.keyid, key: SecretBytes(copying: key), longSecret: SecretBytes(utf8: response.longsecret),
            wrongGuesses: response.wrongGuesses.map { WrongGuesses(count: $0, last: nil) })
    }

    private func note(_ id: String, _ blinded: RistrettoElement, _ element: RistrettoElement) {
        recorded.withLock { $0.evaluated.append(Evaluated(id: id, blinded: blinded, evaluated: element)) }
    }

    /// Makes a call. Its refusal has the form in which a client reads it.
    private func answered<R>(_ call: () async throws -> R) async throws -> R {
        recorded.withLock { $0.calls += 1 }
        do {
            return try await call()
        } catch let error as KeyServiceServerError {
            let codes: [KeyServiceServerError.Code: KeyServiceError.Code] = [
                .wrongSecret: .wrongSecret, .keyLocked: .keyLocked, .noSuchKey: .noSuchKey,
            ]
            throw KeyServiceError(
                codes[error.code] ?? .unavailable, error.description, guessesRemaining: error.guessesRemaining)
        } catch let error as StoredKey.Refusal {
            let codes: [StoredKey.Refusal: KeyServiceError.Code] = [
                .busy: .busy, .locked: .keyLocked, .gone(.ended): .keyEnded, .unfinished: .unfinished,
            ]
            throw KeyServiceError(codes[error] ?? .invalidAnswer, "\(error)")
        } catch let error as OPRFKeeper.Refusal {
            throw KeyServiceError(.noSuchKey, "\(error)")
        }
    }
}
