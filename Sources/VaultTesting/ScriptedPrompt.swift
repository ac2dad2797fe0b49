internal import VaultBase
public import VaultBiometric
public import VaultCrypto

/// A prompt that answers hardware, for an app's own tests.
public final class ScriptedPrompt: BiometricPrompt {
    private struct State {
        var answers: [String?]
        var requests: [PINRequest] = []
        var instructions: [String] = []
        var whenAsked: (@Sendable (PINRequest) async -> Void)?
    }

    private let state: Lock<State>

    /// - Parameter answers: the PINs to answer with, in order. The last one is repeated. nil cancels. Without answers,
    ///   everything is cancelled.
    public init(_ answers: String?...) {
        state = Lock(State(answers: answers))
    }

    /// The questions so far.
    public var requests: [PINRequest] { state.withLock { $0.requests } }

    /// The instructions to the person so far.
    public var instructions: [String] { state.withLock { $0.instructions } }

    /// A closure that runs while the person types a PIN, for example to pull the token.
    public var whenAsked: (@Sendable (PINRequest) async -> Void)? {
        get { state.withLock { $0.whenAsked } }
        set { state.withLock { $0.whenAsked = newValue } }
    }

    /// Keeps the request, and answers with the next PIN.
    ///
    /// - Throws: ``BiometricError`` with code `cancelled` when the next answer is nil, or when there are no answers.
    public func pin(_ request: PINRequest) async throws -> SecretBytes {
        state.withLock { $0.requests.append(request) }
        await whenAsked?(request)
        let answer = state.withLock { state in
            state.answers.count > 1 ? state.answers.removeFirst() : state.answers.first ?? nil
        }
        guard let answer else { throw BiometricError(.cancelled, "Cancelled.") }
        return try SecretBytes(utf8: answer)
    }

    /// Keeps the instruction, and returns at once.
    public func act(_ instruction: String) async {
        state.withLock { $0.instructions.append(instruction) }
    }
}
