internal import VaultBackground
public import VaultBiometric
public import VaultCrypto
internal import VaultDBus

/// The keyring of the desktop, by the freedesktop.org Secret Service API: GNOME Keyring, KWallet and others.
///
/// It keeps each secret as an item of the default collection, and finds it in any collection. The items have the schema
/// `credential-vault.unlock-method`. Each call has its own connection to the session bus, on its own thread, so the
/// service may end and come back between two calls, and once during a call.
///
/// Secrets cross the bus as they are (the algorithm `plain`), so it must be a socket on this machine. The other
/// algorithm of the Secret Service needs cryptography of our own, and would hide them from nobody: a program that can
/// read the user's bus can ask the keyring, too.
///
/// It opens libsystemd at run time. No build needs it, and a machine without it has no such keyring.
public struct SecretService: DesktopKeyring {
    private let busAddress: String?
    private let timeLimit: Duration
    private let questionTimeLimit: Duration

    /// Makes a keyring. It connects with the first call.
    ///
    /// - Parameters:
    ///   - busAddress: the D-Bus address of the desktop's bus; nil for the session bus (`DBUS_SESSION_BUS_ADDRESS`, or
    ///     else the socket in `XDG_RUNTIME_DIR`).
    ///   - timeLimit: the time limit for the connection, and then for each answer.
    ///   - questionTimeLimit: the time limit for a call that may ask the person to unlock the keyring. Afterwards the
    ///     window is closed.
    public init(
        busAddress: String? = nil, timeLimit: Duration = .seconds(10), questionTimeLimit: Duration = .seconds(60)
    ) {
        self.busAddress = busAddress
        self.timeLimit = timeLimit
        self.questionTimeLimit = questionTimeLimit
    }

    /// Tells whether the keyring has the secret and is unlocked. A missing bus or service is `missing`.
    public func availability(of id: String?) async -> BiometricAvailability {
        await BiometricAvailability.found { try await run(within: timeLimit) { try $0.requireUnlocked(id) } }
    }

    /// Stores a secret in the default collection. Asks the person to unlock the collection if necessary.
    ///
    /// - Parameters:
    ///   - secret: the secret.
    ///   - id: an id that the keyring does not have yet.
    /// - Throws: ``BiometricError`` with the codes of ``DesktopKeyring``. `CancellationError` when the task is
    ///   cancelled.
    public func store(_ secret: SharedSecret, as id: String) async throws {
        try await run(within: questionTimeLimit) { try $0.store(secret, as: id) }
    }

    /// Returns all secrets under an id. If all of them are locked, asks the person to unlock them.
    ///
    /// - Throws: as ``store(_:as:)``.
    public func secrets(of id: String) async throws -> [SharedSecret] {
        try await run(within: questionTimeLimit) { try $0.secrets(of: id) }
    }

    /// Removes the secrets under an id that are unlocked now.
    ///
    /// - Throws: as ``store(_:as:)``.
    public func remove(_ id: String) async throws {
        try await run(within: timeLimit) { try $0.remove(id) }
    }

    private func run<Answer: Sendable>(
        within limit: Duration, _ body: @escaping @Sendable (SecretServiceConnection) throws -> Answer
    ) async throws -> Answer {
        guard let end = EventDescriptor() else {
            throw BiometricError(.failed, "The program has too many open files. Close some, then try again.")
        }
        let thread = HardwareThread(
            limit: limit, clock: ContinuousClock(), late: "The desktop keyring did not answer in time. Try again.")
        let giveUp: @Sendable () -> Void = { end.signal() }
        return try await thread.run(onGivingUp: giveUp) { [busAddress, timeLimit] isGivenUp -> Answer in
            func call() throws -> Answer {
                try body(SecretServiceConnection(busAddress: busAddress, end: end, timeout: timeLimit))
            }
            do {
                do {
                    return try call()
                } catch let error as BusError where error.isOfRestart && !isGivenUp() {
                    // The bus starts the service again for the second call.
                    return try call()
                }
            } catch let error as BusError {
                throw BiometricError.of(error)
            }
        }
    }
}
