import CredentialVault
import TestSupport
import VaultBase
import VaultTesting

@testable import VaultAuth
@testable import VaultStorage
@testable import VaultUnlock

/// One program of a ``VaultKeyWorld``, from its start to its end or to a crash.
struct PersonsProgram: Sendable {
    static let password = "tea at half past four"
    static let pin = "8068"
    /// Shorter waits are pauses, which are over at once. Longer ones are time limits, which would end calls that only
    /// wait for their turn.
    private static let longestPause = Duration.seconds(4)

    let world: VaultKeyWorld
    /// Nil for a program that runs alone.
    let life: Life?
    let accounts: Accounts
    let auth: Auth
    private let timer = HandClock()

    init(_ world: VaultKeyWorld, _ life: Life?, _ store: any SecureStore) {
        (self.world, self.life) = (world, life)
        timer.ring(longest: Self.longestPause)
        let service: any OPRFKeyService =
            life.map { SteppedKeyService(world: world, base: world.service, life: $0) } ?? world.service
        let issuer: any IssuerKind =
            life.map { SteppedProvider(world: world, base: world.provider, life: $0) } ?? world.provider
        let first = InMemoryKeyService()
        var accounts = Accounts(
            store: life.map { SteppedStore(world: world, base: store, life: $0) } ?? store, clock: world.clock,
            argon2: .insecureForTests, offlineCost: .insecureForTests, policy: .standard,
            keyServiceURL: "https://keys.example", timer: timer,
            services: KeyServices(released: { _ in first }, oprf: { _ in service }))
        if world.claimsKeys {
            accounts.listsDevices = true
            // The explored orders are those of the store and of the key service.
            accounts.keyServiceAudience = .insecureAny
            accounts.services.deviceLists = { [service = world.service] _ in service }
        }
        self.accounts = accounts
        auth = Auth(
            settings: .init(
                issuer: world.provider.issuer, clientID: "app", scopes: [], redirectURI: "app://callback"),
            opener: SessionOpener(
                accounts: accounts, issuers: [issuer],
                transport: FakeTransport { _, _ in throw HTTPError(.notConnected, authority: "") }),
            listening: NoRedirects())
    }

    /// Ends what the program does beside its calls.
    func end() async {
        await auth.lock(.requested)
        timer.ring()
    }

    /// The unlock method of the account with this kind of secret.
    func method(_ kind: Keyslot.Kind) throws -> UnlockMethod {
        switch kind {
        case .password: try .password(SecretBytes(utf8: Self.password))
        case .pin: try .pin(SecretBytes(utf8: Self.pin))
        default: .hardware(world.hardware, ScriptedPrompt("123456"))
        }
    }

    // MARK: - Calls

    func perform(_ call: PlannedCall) async {
        guard let life else { return }
        life.run.note("\(life.process): \(call.kind) begins")
        let before = world.replacements(by: life)
        let task = Task { try await run(call, life) }
        life.cancel(after: call.cancelledAt) { task.cancel() }
        let result = await task.result
        life.cancel(after: nil)
        await accounts.finishConfirming()
        guard life.isAlive else { return }
        guard case .failure(let error) = result else { return life.run.note("\(life.process): \(call.kind) is done") }
        await judge(error, of: call, life)
        if !(error is ToldBeside), world.replacements(by: life) != before {
            life.run.complain("\(call.kind) failed with \(error), but the vault key is new.")
        }
    }

    private func run(_ call: PlannedCall, _ life: Life) async throws {
        let way = try await way(call)
        let own = ItemName(rawValue: "note of \(life.process)")
        switch call.kind {
        case .login: world.noteKey(try await auth.login(world.id, with: way).openVaultKey())
        case .refresh: _ = try await session(way).accessToken(forceRefresh: true)
        case .write, .writeLarge: try await write(own, isLarge: call.kind == .writeLarge, session(way), life)
        case .read:
            let found = try await session(way).items.get(own)
            if world.note(own, { !$0.possible.contains(found) }) { life.run.complain("\(own) is not whole.") }
        case .replace: try await replace(session(way), way, life)
        case .replaceClosed:
            let account = try await accounts.account(world.id)
            let (session, replacement) = try await auth.replaceVaultKey(of: account, keeping: way)
            if let key = try? await session?.openVaultKey() { world.noteKey(key) }
            if let error = replacement.tokenError { throw ToldBeside(error: error) }
        case .addMethod:
            let session = try await session(way)
            if call.way % 2 == 0 {
                try await session.setPIN(SecretBytes(utf8: Self.pin))
            } else {
                try await session.addHardware(world.hardware, prompt: ScriptedPrompt("123456"))
            }
        case .replaceBesideOthers:
            let session = try await session(way)
            async let token: Void = beside(call, life) { _ = try await session.accessToken(forceRefresh: true) }
            async let note: Void = beside(call, life) { try await write(own, isLarge: true, session, life) }
            async let identity: Void = beside(call, life) { _ = try await session.identity() }
            async let replaced: Void = beside(call, life) { try await replace(session, way, life) }
            _ = await (token, note, identity, replaced)
        }
    }

    private func beside(_ call: PlannedCall, _ life: Life, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            if life.isAlive { await judge(error, of: call, life) }
        }
    }

    private var hasPassword: Bool {
        get async { (try? await world.store.account(world.id)?.keyslot(.password)) != nil }
    }

    /// A way that the account has now.
    private func way(_ call: PlannedCall) async throws -> UnlockMethod {
        let kinds = try await world.store.account(world.id)?.keyslots.map(\.kind) ?? []
        return try method(kinds.isEmpty ? .password : kinds[call.way % kinds.count])
    }

    private func session(_ way: UnlockMethod) async throws -> Session {
        if let session = auth.session { return session }
        let session = try await auth.unlock(world.id, with: way)
        world.noteKey(try await session.openVaultKey())
        return session
    }

    private func write(_ name: ItemName, isLarge: Bool, _ session: Session, _ life: Life) async throws {
        let content = world.note(name) { $0.next(isLarge: isLarge) }
        do {
            try await session.items.set(name, to: content)
            if life.isAlive { world.note(name) { $0.acknowledge(content) } }
        } catch {
            if life.isAlive { world.note(name) { $0.refuse(content) } }
            throw error
        }
    }

    private func replace(_ session: Session, _ way: UnlockMethod, _ life: Life) async throws {
        let replacement = try await session.replaceVaultKey(keeping: way)
        // Yet another program may have replaced the key by now.
        if let key = try? await session.openVaultKey() { world.noteKey(key) }
        if let error = replacement.tokenError { throw ToldBeside(error: error) }
    }

    // MARK: - Errors

    /// An error that a call told beside its success.
    private struct ToldBeside: Error { let error: VaultError }

    /// Complains of an error that is not true.
    private func judge(_ error: any Error, of call: PlannedCall, _ life: Life) async {
        guard let told = (error as? ToldBeside)?.error ?? error as? VaultError else {
            return life.run.complain("\(call.kind) threw \(error).")
        }
        life.run.note("\(life.process): \(call.kind) says \(told.code.name)")
        let isTrue: Bool
        switch told.code {
        // The renewal after a replacement waits for nobody.
        case .busy: isTrue = !(error is ToldBeside)
        case .cancelled: isTrue = call.cancelledAt != nil
        // A new key may need an access token, and after an interrupted renewal there is none.
        case .notLoggedIn: isTrue = world.replacements() > 0 || world.claimsKeys && world.hasLostToken
        case .keyServiceUnavailable: isTrue = world.hasLost(.keyServiceAnswer)
        case .identityProviderUnavailable, .identityProviderInterrupted: isTrue = world.hasLost(.providerAnswer)
        case .refreshInterrupted: isTrue = world.hasLostToken
        // Nobody adds the password again. The other unlock methods may be back by now.
        case .notEnrolled, .keyMissing:
            isTrue = told.unlockMethod == .password ? await !hasPassword : world.replacements() > 0
        default: isTrue = false
        }
        if !isTrue { life.run.complain("\(call.kind) says \(told.code.name): \(told)") }
    }
}
