internal import Foundation
internal import KeyServiceClient
internal import VaultBase
internal import VaultCrypto

/// Calls a key service of protocol version 2, and repeats the calls that are safe to repeat.
struct OPRFClient: Sendable {
    let service: any OPRFKeyService
    let clock: any WallClock
    let timer: any Clock<Duration>
    /// The longest wait for a busy service. A hundred programs of one person may log in at once, and the service
    /// evaluates three guesses at a time.
    var timeout = Duration.seconds(60)
    /// The most repeats after a lost answer. A service that was silent for the whole time limit is not asked again,
    /// because the person waits.
    var repeats = 2
    /// Whether the caller no longer wants the answer. A service that counted nothing is then not waited for.
    var isCancelled: @Sendable () -> Bool = { Task.isCancelled }

    func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation {
        try await repeating { _ in try await service.createKey(key) }
    }

    func evaluate(_ id: String, _ blinded: RistrettoElement, requestKey: SharedSecret) async throws -> Evaluation {
        try await repeating { date in
            try await service.evaluate(id, blinded, requestKey: requestKey.bytes, at: date)
        }
    }

    func confirm(_ confirmation: KeyConfirmation) async throws {
        try await repeating { _ in try await service.confirm(confirmation) }
    }

    /// Sends the same values again after a lost answer, so the service counts them once.
    private func repeating<R: Sendable>(_ call: (_ now: Date) async throws -> R) async throws -> R {
        var lost = 0
        var (pause, waited) = (Duration.milliseconds(100), Duration.zero)
        var serviceTime: Date?
        while true {
            do {
                return try await call(serviceTime ?? clock.now)
            } catch let error as KeyServiceError {
                if error.isAnswerLost, !error.isTimeout, lost < repeats {
                    lost += 1
                } else if error.code == .busy, waited < timeout {
                    if isCancelled() { throw CancellationError() }
                    // Programs that were refused together must not ask again together.
                    let now = pause * .random(in: 0.5...1.5)
                    try await timer.sleep(for: now)
                    waited += now
                    pause = min(.seconds(1), pause * 1.5)
                } else if error.code == .clock, serviceTime == nil, let time = error.serviceTime {
                    serviceTime = time
                } else {
                    throw error
                }
            }
        }
    }
}
