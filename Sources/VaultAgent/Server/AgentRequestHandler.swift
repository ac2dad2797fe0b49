internal import Foundation
internal import OpenIDConnect
internal import VaultAgentProtocol
internal import VaultAuth
internal import VaultCrypto
internal import VaultStorage
package import VaultUnlock

/// Carries out the requests of the agent's clients.
package final class AgentRequestHandler: Sendable {
    package let sessions: HeldSessions
    private let accounts: Accounts
    private let names: KnownNames
    private let consent: ProgramConsent?
    private let folder: String
    private let isInPlace: @Sendable () -> Bool
    private let accountTable: @Sendable () async throws -> String
    private let listening: @Sendable () async -> [String]

    /// - Parameters:
    ///   - version: a number that changes with the store; nil if it is not known.
    ///   - tick: returns a number that changes when a request must look at the version again; nil to look each time.
    ///   - isInPlace: whether the store is still in its folder, and was not moved or replaced.
    ///   - consent: asks the person before a program's first use of a session; nil for no question.
    ///   - listening: the reasons for a lock other than the sessions' limits, a line each.
    package init(
        sessions: HeldSessions, accounts: Accounts, folder: String, version: @escaping @Sendable () -> Int64?,
        tick: (@Sendable () -> Int)? = nil, isInPlace: @escaping @Sendable () -> Bool, consent: ProgramConsent?,
        accountTable: @escaping @Sendable () async throws -> String,
        listening: @escaping @Sendable () async -> [String]
    ) {
        self.sessions = sessions
        self.accounts = accounts
        self.folder = folder
        self.isInPlace = isInPlace
        self.consent = consent
        self.accountTable = accountTable
        self.listening = listening
        names = KnownNames(accounts: accounts, version: version, tick: tick)
    }

    func isHeld(_ account: AgentAccount) -> Bool {
        sessions.all.contains { $0.id == AccountID(account) && $0.session.isOpen }
    }

    /// Returns the answer to a request that does not have to wait; nil for any other request.
    func answerAtOnce(_ request: borrowing AgentRequest, process: Int32) -> AgentAnswer? {
        guard case .quickToken(let user, let seconds) = copy request, let id = names.known(user) else { return nil }
        return quickToken(id, seconds, process)
    }

    private func quickToken(_ id: AccountID, _ seconds: UInt32, _ process: Int32) -> AgentAnswer {
        // Without a policy that can be read, the command itself says what is wrong.
        guard let held = try? sessions.used(id), consent?.isGiven(to: process, for: held) ?? true,
            let token = held.session.tokenAtHand(validFor: .seconds(Int64(seconds))), !token.isBound
        else { return .notAtHand }
        return .token(AgentToken(token, isNew: false))
    }

    func answer(_ request: consuming AgentRequest, process: Int32) async -> AgentAnswer {
        do {
            return try await answered(request, process)
        } catch {
            guard let error = VaultError.converting(error) as? VaultError else {
                return .failed(
                    AgentFailure(code: "internal", message: "The agent failed (\(type(of: error))). Try again."))
            }
            return .failed(AgentFailure(error))
        }
    }

    private func answered(_ request: consuming AgentRequest, _ process: Int32) async throws -> AgentAnswer {
        switch consume request {
        case .quickToken(let user, let seconds):
            // If nobody names one of several accounts, only the full command knows who reads the token.
            guard let id = try? await names.find(user) else { return .notAtHand }
            return quickToken(id, seconds, process)
        case .accountTable:
            _ = try sessions.machinePolicy
            return .text(try await accountTable())
        case .status: return .status(await status())
        case .locks: return .locks(sessions.locks)
        case .hold(let account, var key, let rules, let contact, let locks):
            defer { AgentConnection.wipe(&key) }
            guard key.count == 32 else { throw AgentProtocolError.malformed }
            try await sessions.hold(
                AccountID(account), vaultKey: VaultKey(SecretBytes(copying: key)), rules: rules,
                contact: SessionContact(contact), locks: locks)
            return .done
        case .attach(let account):
            let session = try await used(account, process).session
            return .attached(AgentContact(session.contact), refusal: session.refusal.map(AgentFailure.init))
        case .token(let account, let wish):
            let held = try await used(account, process)
            if let audience = wish.audience {
                return .token(AgentToken(try await held.backend.accessToken(forAudience: audience), isNew: true))
            }
            return .token(try await token(held.session, wish))
        case .proofKey(let account):
            let held = try await used(account, process)
            return .data(try await held.session.dpopKey()?.rawRepresentation ?? [])
        case .seal(let account, let item, let content):
            let key = try await vaultKey(account, process)
            return .data(try await key.seal(content, as: .sealedByAgent(item), of: AccountID(account)))
        case .open(let account, let item, let sealed):
            let name = ItemName(rawValue: item)
            // No client gets the refresh token.
            guard !name.isReserved || name == .idTokenClaims || name.isOfKeyEnd || name.isOfDeviceLabel else {
                throw StoreError(.reservedName, "The agent does not open the vault's own items. Choose another name.")
            }
            let held = try await used(account, process)
            do {
                return .data(try await held.session.openVaultKey().open(sealed, as: name, of: AccountID(account)))
            } catch {
                throw await held.backend.account.explained(error)
            }
        case .check(let account, let kind, var secret):
            defer { AgentConnection.wipe(&secret) }
            let held = try await used(account, process)
            let typed = SharedSecret(try SecretBytes(copying: secret))
            guard let method = UnlockMethod.typed(Keyslot.Kind(rawValue: kind), typed) else {
                throw AgentProtocolError.malformed
            }
            try await held.backend.check(method)
            return .data(try held.newTicket())
        case .setPIN(let account, var pin, let ticket):
            defer { AgentConnection.wipe(&pin) }
            let held = try await used(account, process)
            // A login of another program does not count: any program of the user can use the session.
            guard held.accepts(ticket) else { throw VaultError.secretRequired }
            // The client's session has judged whether the PIN is easy to guess, or its app has a rule of its own.
            try await held.backend.setPINAfterCheck(SecretBytes(copying: pin))
            return .done
        case .lock(let account, let isFinal):
            let ids = account.map { [AccountID($0)] } ?? sessions.all.map(\.id)
            await sessions.lock(ids, .requested, isFinal: isFinal)
            return .done
        case .stop(let isForced): return try await stop(isForced)
        case .streamKey(let account, let item):
            let name = ItemName(rawValue: item)
            try name.requireWritable()
            let key = try await vaultKey(account, process).streamKey(of: name, of: AccountID(account))
            return .data(key.bytes.withUnsafeBytes { Array($0) })
        case .logOutEverywhere(let account):
            let failure = try await used(account, process).session.logoutEverywhere()
            return .loggedOut(failure.map(AgentFailure.init))
        case .logoutURL(let account, let redirectURI, let state):
            let held = try await used(account, process)
            return .text(try await held.session.providerLogoutURL(redirectURI: redirectURI, state: state))
        case .watch: throw AgentProtocolError.malformed
        }
    }

    private func status() async -> AgentStatus {
        await sessions.obeyPolicy()
        var held = sessions.all.filter(\.session.isOpen).map(\.holding)
        for index in held.indices {
            // The person may have renamed the account since the login.
            let account = try? await accounts.store.account(AccountID(held[index].account))
            if let account { held[index].name = account.displayName }
        }
        return AgentStatus(
            process: UInt32(clamping: getpid()), folder: folder, isConfirming: consent != nil,
            listening: await listening(),
            sessions: held.sorted { $0.name < $1.name },
            locked: sessions.locked.map(AgentAccount.init))
    }

    private func token(_ session: Session, _ wish: AgentTokenWish) async throws -> AgentToken {
        let before = session.tokenAtHand(validFor: .zero)?.value
        let minimum = Duration.seconds(Int64(wish.minimumSeconds))
        let token: AccessToken
        if let rejected = wish.rejected {
            let refused = AccessToken(
                value: rejected, tokenType: "", expiresAt: nil, scope: nil, obtainedAt: Date())
            token = try await session.accessToken(replacing: refused, minimumValidity: minimum)
        } else if wish.isForced {
            // If two programs ask at once, the second one gets the token of the first.
            let moment = Date(timeIntervalSince1970: wish.at)
            token = try await session.accessToken(forcedAt: moment, minimumValidity: minimum)
        } else {
            token = try await session.accessToken(minimumValidity: minimum)
        }
        return AgentToken(token, isNew: token.value != before)
    }

    private func stop(_ isForced: Bool) async throws -> AgentAnswer {
        await sessions.lockAll(.requested)
        let names = await sessions.storeUnfinished().joined(separator: ", ")
        if names.isEmpty { return .done }
        if isForced { return .text(Self.loss(names)) }
        throw VaultError(
            .storeUnreadable,
            "All sessions are locked, but the agent goes on: it cannot store the renewed token of \(names). Make room on the disk, then end the agent again.",
            detail: .tokenNotStored)
    }

    /// The message for the person after the agent ended with the only copy of a token.
    package static func loss(_ names: String) -> String {
        "The renewed token of \(names) could not be stored and is lost. If you cannot log in any more, register again."
    }

    private func vaultKey(_ account: AgentAccount, _ process: Int32) async throws -> VaultKey {
        try await used(account, process).session.openVaultKey()
    }

    private func used(_ account: AgentAccount, _ process: Int32) async throws -> HeldSession {
        guard isInPlace() else {
            throw VaultError(
                .storeUnreadable,
                "\(folder) was moved or replaced while the agent used it. End the agent.", detail: .storeMoved)
        }
        guard let held = try sessions.used(AccountID(account)) else {
            let stored = try await accounts.account(AccountID(account))
            try accounts.requireAllowedServers(of: stored)
            throw VaultError.noAgent(stored)
        }
        guard let consent else { return held }
        try await consent.require(from: process, for: held)
        // The person may have taken long to answer, so the session may be locked or forbidden by now.
        guard try sessions.used(held.id) === held else { throw VaultError.noAgent(held.account) }
        return held
    }
}
