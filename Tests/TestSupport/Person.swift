internal import VaultBase
package import VaultBiometric
package import VaultCrypto

/// A person who types a PIN when asked, and does the action that the hardware wants.
package final class Person: BiometricPrompt {
    /// The PIN that is typed unless a test says otherwise.
    package static let pin = "123456"

    private let answer: @Sendable (PINRequest) async throws -> String
    private let action: @Sendable (String) async -> Void
    private let asked = Lock<(requests: [PINRequest], instructions: [String])>(([], []))

    /// The requests for a PIN, in order.
    package var requests: [PINRequest] { asked.withLock { $0.requests } }
    /// The requested actions at the hardware, in order.
    package var instructions: [String] { asked.withLock { $0.instructions } }

    /// - Parameters:
    ///   - answer: the person's action before the PIN is typed, and the PIN.
    ///   - action: the person's action when the hardware wants one.
    package init(
        _ answer: @escaping @Sendable (PINRequest) async throws -> String,
        action: @escaping @Sendable (String) async -> Void = { _ in }
    ) {
        self.answer = answer
        self.action = action
    }

    package convenience init(
        _ pin: String = pin, action: @escaping @Sendable (String) async -> Void = { _ in }
    ) {
        self.init({ _ in pin }, action: action)
    }

    package func pin(_ request: PINRequest) async throws -> SecretBytes {
        asked.withLock { $0.requests.append(request) }
        return try SecretBytes(utf8: try await answer(request))
    }

    package func act(_ instruction: String) async {
        asked.withLock { $0.instructions.append(instruction) }
        await action(instruction)
    }
}

/// A person whose PIN is in memory only while it is typed.
package struct QuietPerson: BiometricPrompt {
    private let pin: HiddenBytes

    package init(_ pin: HiddenBytes) { self.pin = pin }

    package func pin(_ request: PINRequest) async throws -> SecretBytes { try pin.revealed() }
    package func act(_ instruction: String) async {}
}
