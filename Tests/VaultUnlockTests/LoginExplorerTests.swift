import Foundation
import KeyServiceClient
import TestSupport
import Testing
import VaultBase
import VaultCrypto
import VaultHTTP
import VaultTesting

@testable import VaultStorage
@testable import VaultUnlock

/// Random runs of logins with the right password at one key: requests and answers get lost, answers are changed on
/// their way, logins are cancelled, programs log in at once, and somebody loses all answers but repeated ones.
@Suite(.timeLimit(.minutes(5))) struct LoginExplorerTests {
    @Test(arguments: 0..<60 as Range<UInt64>)
    func `when answers get lost or changed, then no key locks`(seed: UInt64) async throws {
        var world = try await World(seed: seed)
        for _ in 0..<25 { try await world.happen() }
        try await world.expectRightPasswordOpens()
    }

    @Test(arguments: 100..<120 as Range<UInt64>)
    func `when a thief replays confirmations, then keys give three guesses`(seed: UInt64) async throws {
        var world = try await World(seed: seed)
        for _ in 0..<25 {
            try await world.happen()
            try await world.steal()
        }
        #expect(world.guessesByKey.values.allSatisfy { $0 <= 3 }, "\(world.events)")
    }
}

private struct World {
    let fixture: OPRFFixture
    let network: Network
    private var random: SeededGenerator
    private(set) var events: [String] = []
    private var typos = 0
    private var thief: OPRFFixture?
    /// The number of the thief's guesses that were evaluated, by key.
    private(set) var guessesByKey: [String: Int] = [:]

    init(seed: UInt64) async throws {
        fixture = OPRFFixture()
        try await fixture.register()
        random = SeededGenerator(state: seed)
        network = Network(fixture.service, seed: seed)
    }

    /// One login, or several at once.
    mutating func happen() async throws {
        fixture.clock.advance(by: [0, 5, 61].randomElement(using: &random) ?? 0)
        network.weather = Network.Weather.allCases.randomElement(using: &random) ?? .clear
        let program = fixture.restarted { [network] _ in network }
        let event = Int.random(in: 0..<10, using: &random)
        let code: VaultError.Code?
        switch event {
        case 0 where typos == 0:
            code = await program.failure("a slip")
            typos += 1
        case 1...2:
            let login = Task { try await program.login() }
            network.whenEvaluated { login.cancel() }
            code = await fixture.failure { _ = try await login.value }
        case 3:
            let other = fixture.restarted { [network] _ in network }
            async let second = other.failure()
            code = await program.failure()
            if await second == .keyLocked { recordLock() }
        default:
            code = await program.failure()
        }
        events.append("\(network.weather) \(event): \(code?.name ?? "opened")")
        if code == nil { typos = 0 }
        if code == .keyLocked { recordLock() }
    }

    /// Nobody is told that a key is locked if only lost confirmations keep it full.
    private func recordLock() {
        if thief == nil { Issue.record("The key is locked: \(events)") }
    }

    /// The network is whole again. The last guess may be kept, but then it opens.
    mutating func expectRightPasswordOpens() async throws {
        fixture.clock.advance(by: 61)
        var code = await fixture.failure()
        if code == .lastGuess {
            let method = try UnlockMethod.password(SecretBytes(utf8: OPRFFixture.password)).spendingLastGuess
            code = await fixture.failure { try await fixture.login(with: method) }
        }
        #expect(code == nil, "\(events)")
        #expect(fixture.service.openGuesses(of: try await fixture.slot().keyID) == 0, "\(events)")
        #expect(fixture.told.notices == [], "\(events)")
    }

    /// A thief with the newest disk sends recorded confirmations again, and guesses.
    mutating func steal() async throws {
        if Bool.random(using: &random) || thief == nil { thief = try await fixture.thief() }
        guard let thief, let key = try? await thief.slot().keyID else { return }
        for confirmation in network.confirmations where confirmation.id == key {
            try? await fixture.service.confirm(confirmation)
        }
        if await thief.failure("guess \(events.count)") == .wrongSecret { guessesByKey[key, default: 0] += 1 }
    }
}

/// The way to the key service.
private final class Network: WrappedOPRFService {
    enum Weather: CaseIterable {
        case clear, losesSome, losesAll, losesNewAnswers, changesAnswers
    }

    private struct State {
        var weather = Weather.clear
        var random: SeededGenerator
        var action: (@Sendable () -> Void)?
        var confirmations: [KeyConfirmation] = []
    }

    let base: any OPRFKeyService
    private let service: InMemoryOPRFKeyService
    private let state: Lock<State>

    init(_ service: InMemoryOPRFKeyService, seed: UInt64) {
        (base, self.service) = (service, service)
        state = Lock(State(random: SeededGenerator(state: ~seed)))
    }

    var weather: Weather {
        get { state.withLock { $0.weather } }
        set { state.withLock { $0.weather = newValue } }
    }

    var confirmations: [KeyConfirmation] { state.withLock { $0.confirmations } }

    /// Calls `action` when the next evaluation has arrived.
    func whenEvaluated(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = action } }

    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        let (weather, isLost, arrives) = state.withLock { state in
            (state.weather, Int.random(in: 0..<3, using: &state.random) == 0, Bool.random(using: &state.random))
        }
        if weather == .losesSome, isLost, !arrives { throw Self.lost(.interrupted) }
        let before = service.evaluations(of: id)
        let answer = try await base.evaluate(id, blinded, requestKey: requestKey, at: date)
        let action = state.withLock { state in
            defer { state.action = nil }
            return state.action
        }
        action?()
        switch weather {
        case .losesAll: throw Self.lost(.timedOut)
        case .losesSome where isLost: throw Self.lost(.interrupted)
        case .losesNewAnswers where service.evaluations(of: id) != before: throw Self.lost(.timedOut)
        case .changesAnswers: throw KeyServiceError(.invalidAnswer, "The answer was changed on its way.")
        default: return answer
        }
    }

    func confirm(_ confirmation: KeyConfirmation) async throws {
        let isLost = state.withLock { state in
            state.confirmations.append(confirmation)
            return state.weather != .clear && Bool.random(using: &state.random)
        }
        if isLost { throw Self.lost(.timedOut) }
        try await base.confirm(confirmation)
    }

    private static func lost(_ code: HTTPError.Code) -> KeyServiceError {
        KeyServiceError(
            .unavailable, "The key service does not answer.", underlying: HTTPError(code, authority: "keys.example"))
    }
}
