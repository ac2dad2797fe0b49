public import FoundationEssentials

/// The reason why hardware did not protect or open a secret. It carries no PIN and no secret.
public struct BiometricError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of error, which tells the next step. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String
        /// It did not work: the text names the reason. Try again, or unlock in another way.
        public static let failed = Code(name: "failed")
        /// The PIN is wrong: ask again. See ``BiometricError/guessesLeft``.
        public static let wrongPIN = Code(name: "wrongPIN")
        /// The person cancelled.
        public static let cancelled = Code(name: "cancelled")
        /// The hardware accepts no PIN now: wait for ``BiometricError/endsAfter``, or unlock it with its own tools.
        public static let lockedOut = Code(name: "lockedOut")
        /// The hardware is not there: plug it in.
        public static let hardwareMissing = Code(name: "hardwareMissing")
        /// Another piece of hardware is in its place: plug in the enrolled one.
        public static let hardwareReplaced = Code(name: "hardwareReplaced")
        /// It protects nothing of this account: enrol it first.
        public static let notEnrolled = Code(name: "notEnrolled")
        /// The hardware or its driver did not answer in time: unplug it and try again.
        public static let timedOut = Code(name: "timedOut")
        /// A library or service is missing: the text names it.
        public static let unavailable = Code(name: "unavailable")
        /// The hardware has no key that can be used: let the provider make one.
        public static let keyMissing = Code(name: "keyMissing")
        /// This user may not use the hardware: ask the machine's administrator.
        public static let notPermitted = Code(name: "notPermitted")
    }

    /// The code that tells what happened, and so what to do next.
    public let code: Code
    /// One or two sentences for a person, with the next step.
    public let description: String
    /// The number of wrong PINs that are left, with `wrongPIN`; nil if the hardware does not tell.
    public let guessesLeft: Int?
    /// The time until the lockout ends by itself, with `lockedOut`; nil if unknown.
    public let endsAfter: Duration?
    /// The error that caused this one, for a log; nil when the hardware itself refused.
    public let underlying: (any Error)?

    /// Makes an error for a ``BiometricProvider`` of your own.
    ///
    /// - Parameters:
    ///   - code: what happened.
    ///   - description: one or two sentences for a person, with the next step and without anything secret.
    ///   - guessesLeft: with `wrongPIN`, the number of wrong PINs that are left; nil when the hardware does not tell.
    ///   - endsAfter: with `lockedOut`, the time until it ends by itself; nil when that is not known.
    ///   - underlying: the error that caused this one.
    public init(
        _ code: Code, _ description: String, guessesLeft: Int? = nil, endsAfter: Duration? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.description = description
        self.guessesLeft = guessesLeft
        self.endsAfter = endsAfter
        self.underlying = underlying
    }

    /// The same text as ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}

extension BiometricAvailability {
    /// Turns the result of a look at the hardware into a provider's answer.
    ///
    /// - Parameter look: throws if the hardware could protect or open nothing now.
    package static func found(by look: () async throws -> Void) async -> BiometricAvailability {
        do {
            try await look()
            return .available
        } catch let error as BiometricError {
            switch error.code {
            case .hardwareMissing, .hardwareReplaced: return .missing
            case .lockedOut: return .lockedOut(for: error.endsAfter)
            default: return .unusable(error.description)
            }
        } catch {
            return .unusable("The check of the hardware was cancelled.")
        }
    }
}
