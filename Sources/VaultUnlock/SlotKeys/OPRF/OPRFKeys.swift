internal import Foundation
internal import KeyServiceClient
internal import VaultBase
package import VaultCrypto
package import VaultStorage

/// Keys of protocol version 2, with an oblivious pseudorandom function (OPRF, RFC 9497). The stretched secret is the
/// function's input, and its result gives the slot key. The key service computes the function, and learns neither.
///
/// A guess counts as wrong until the service has its confirmation, which only the right secret can sign.
package struct OPRFKeys: SlotKeyProtocol {
    let store: any SecureStore
    var client: OPRFClient
    /// Whether a busy key counts as locked if it was locked here a moment ago. Nothing authenticates "busy".
    var takesBusyForLocked = false
    let newClaims: NewClaims
    /// Waits for a guess that was sent.
    let stopGuard: StopGuard
    /// The longest wait for confirmations that are sent before a guess.
    let timeout: Duration
    /// The identity keys that a new key may come from. Opening needs none.
    var trusted = TrustedIdentities()
    /// The claim that a new key needs; nil if an unclaimed key stays.
    var claim: RequiredClaim?
    /// The account's present vault key, if the new keyslot gets another one.
    var presentVaultKey: VaultKey?

    package var inputSize: Int { OPRFDerivation.stretchedSize }

    func guesses(of account: Account) -> OwnGuesses { OwnGuesses(store: store, account: account.id) }

    /// Opens a keyslot with one guess, and stores the confirmation of this guess.
    package func open(
        _ slot: Keyslot, of account: Account, input: SharedSecret, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot {
        try slot.requireKeyAtService()
        let stretched = try functionInput(input, isOfHardware: slot.kind.hasProvider, id: slot.keyID)
        do {
            // If another program holds the store, each later note would wait just as long.
            _ = try await guesses(of: account).waiting()
        } catch let error as StoreError where error.code == .busy {
            throw error
        } catch {}
        await within(timeout, client.timer) { await sendConfirmations(of: account) }
        return try await withTurn(of: account.id) { hasTurn in
            @Sendable func open() async throws -> OpenedKeyslot {
                try await self.open(
                    slot, of: account, stretched: stretched, hasTurn: hasTurn, spendsLastGuess: spendsLastGuess)
            }
            do {
                return try await open()
            } catch let error as KeyServiceError where error.code == .noSuchKey && slot.kind == .recovery {
                // The request key of a recovery code is made from the code. So a wrong code cannot even ask.
                throw KeyServiceError(
                    .wrongSecret, "The recovery code is wrong, or its key is gone.", underlying: error)
            } catch let error as KeyServiceError where error.code == .keyLocked {
                let (isClosed, isLost) = await closeGuesses(at: slot, of: account)
                do {
                    guard isClosed else { throw error }
                    return try await open()
                } catch let error as KeyServiceError where error.code == .keyLocked && isLost {
                    throw KeyServiceError(
                        .unavailable,
                        "The key service refused this login, because messages of this machine about earlier logins were lost. If it happens again, use another network.",
                        underlying: error)
                }
            }
        }
    }

    /// - Throws: also ``VaultError`` with code `storeCorrupt` if the signature that ends the key is still sealed.
    package func end(_ key: RetiredKey) async throws {
        guard let signature = key.endSignature else {
            throw VaultError(.storeCorrupt, "The signature that ends a key is sealed. The next login opens it.")
        }
        do {
            try await client.service.endKey(id: key.id, signature: signature)
        } catch let error as KeyServiceError where error.isOfEndedKey {}
    }

    /// Runs the guesses of one account one after the other, in all programs. A program sends its own open guess again,
    /// which is free only as long as no other program confirms it meanwhile.
    ///
    /// If the lock cannot be had, `body` runs all the same, without the turn: nobody is kept out for that.
    func withTurn<R: Sendable>(
        of id: AccountID, _ body: @Sendable (_ hasTurn: Bool) async throws -> R
    ) async throws -> R {
        let turn = AccountID(issuer: "guesses at " + id.issuer, subject: id.subject)
        let hasBegun = Lock(false)
        do {
            // No error leaves the closure: after an error, some stores keep the file of the lock.
            let result: Result<R, any Error> = try await store.withLock(on: turn) { _ in
                hasBegun.withLock { $0 = true }
                do { return .success(try await body(true)) } catch { return .failure(error) }
            }
            return try result.get()
        } catch is StoreError where !hasBegun.withLock({ $0 }) {
            return try await body(false)
        }
    }

    func functionInput(_ input: SharedSecret, isOfHardware: Bool, id: String) throws -> SharedSecret {
        isOfHardware ? SharedSecret(try OPRFDerivation.stretched(hardware: input.bytes, id: id)) : input
    }

    func requestKey(
        _ kind: Keyslot.Kind, _ stretched: SharedSecret, id: String, of account: Account
    ) throws -> SecretBytes {
        guard kind.isGuessable else { return try OPRFDerivation.requestKey(from: stretched.bytes, id: id) }
        return try OPRFDerivation.requestKey(from: SecretBytes(copying: account.deviceSecret), id: id)
    }

    func finalize(
        _ input: SharedSecret, _ blinding: borrowing OPRF.Blinding, _ evaluated: RistrettoElement
    ) throws -> SecretBytes {
        do {
            return try OPRF.finalize(input.bytes, blinding, evaluated: evaluated)
        } catch let error as VaultCryptoError where error.code == .invalidInput {
            throw KeyServiceError(
                .invalidAnswer, "The key service answered with an impossible element.", underlying: error)
        }
    }

    /// Nobody can change the data beside the wrapped key unnoticed, nor the address of the key service: a thief who
    /// could write the disk would otherwise get the next new key, and the next access token.
    func salt(of account: Account, protection: [UInt8]) -> [UInt8] {
        Checksum.of([Array(account.keyServiceURL.utf8), protection])
    }
}

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

extension KeyServiceError {
    /// Whether the key is gone for ever. Nothing authenticates such an answer to a confirmation or an end: anybody
    /// between here and the service can say so.
    var isOfEndedKey: Bool { [.noSuchKey, .keyEnded, .keyRevoked, .keyDestroyed].contains(code) }
}
