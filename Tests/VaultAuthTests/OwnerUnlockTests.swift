import CredentialVault
import Foundation
import Testing
import VaultBase
import VaultTesting

/// A locked key that a sign-in at the provider unlocks.
@Suite struct OwnerUnlockTests {
    private static let password = "tea at half past four"

    private let test = TestVault(hasProtocol2: true, listsDevices: true)
    private let service: InMemoryOPRFKeyService
    private let id: AccountID

    init() async throws {
        service = try #require(test.oprfKeyService)
        service.letsOwnersUnlock = true
        id = try await test.addAccount("alice", password: Self.password, pin: "8264")
        _ = try await test.auth.login(id, with: .password(SecretBytes(utf8: Self.password)))
        await test.accounts.finishConfirming()
        await test.auth.lock()
    }

    private func open(_ password: String = password) async throws {
        _ = try await test.auth.unlock(id, with: .password(SecretBytes(utf8: password)))
        await test.auth.lock()
    }

    private func lockPassword() async {
        for _ in 1...3 { _ = await failure { try await open("not the password") } }
        #expect(await failure { try await open() }?.code == .keyLocked)
    }

    private func lockPIN() async {
        for _ in 1...3 {
            _ = await failure { _ = try await test.auth.unlock(id, with: .pin(SecretBytes(utf8: "0000"))) }
        }
    }

    private func answer(_ subject: String = "alice") async throws -> OwnerUnlock {
        let account = try await test.accounts.account(id)
        try await test.accounts.requireOwnerUnlock(of: account)
        let login = try await test.auth.signIn(test.provider.signIn(subject))
        return try await test.auth.unlockKeys(of: account, with: login)
    }

    /// The kinds of the unlocked keys. Throws the reason if a key stays locked.
    private func reset(_ subject: String = "alice") async throws -> [Keyslot.Kind] {
        let answer = try await answer(subject)
        if let refusal = answer.refused.first { throw refusal.reason }
        return answer.unlocked.map(\.kind)
    }

    @Test func `when a sign-in unlocks a key, then the next login says so`() async throws {
        await lockPassword()
        #expect(try await reset() == [.password])
        #expect(try await reset() == [])
        let told = Lock<[AccountNotice]>([])
        test.accounts.onNotice { notice in told.withLock { $0.append(notice) } }
        try await open()
        let notice = try #require(told.withLock { $0.first })
        #expect(notice.code == .keyUnlocked && notice.keyslot == .password && notice.last == test.clock.now)
        told.withLock { $0 = [] }
        try await open()
        #expect(told.withLock { $0.isEmpty })
    }

    @Test func `when a sign-in unlocks a key, then its method no longer counts as locked`() async throws {
        func state() async throws -> KeyslotSummary.State? {
            try await test.storage.keyslotSummaries(of: id).first { $0.kind == .password }?.state
        }
        // An answer from the same second as the last login counts as older than the login.
        test.clock.advance(by: 1)
        await lockPassword()
        #expect(try await state() == .locked)
        _ = try await reset()
        #expect(try await state() == .usable)
    }

    @Test func `when a key locks twice a day, then a sign-in waits`() async throws {
        await lockPassword()
        #expect(try await reset() == [.password])
        await lockPassword()
        #expect(await failure { _ = try await reset() }?.code == .keyLocked)
        test.clock.advance(by: 86_400)
        #expect(try await reset() == [.password])
    }

    private func times() async throws -> [Date] {
        let account = try await test.accounts.account(id)
        return await test.accounts.ownerUnlockTimes(of: account).values.sorted()
    }

    @Test func `when a sign-in unlocked a key, then its next time is known`() async throws {
        await lockPassword()
        #expect(try await times() == [])
        _ = try await reset()
        let next = test.clock.now + 86_400
        #expect(try await times() == [next])
        await lockPassword()
        test.clock.advance(by: 3600)
        _ = await failure { _ = try await reset() }
        #expect(try await times() == [next])
        // The clock was set back: the key service decides.
        test.clock.advance(by: -7200)
        #expect(try await times() == [])
        test.clock.advance(by: 3600 + 86_400)
        #expect(try await times() == [])
    }

    @Test func `when the note of an unlock is gone, then a refusal makes one`() async throws {
        await lockPassword()
        _ = try await reset()
        await lockPassword()
        try await test.store.withRecord(id.recordPrefix + "keyslot-notes") { $0 = nil }
        #expect(try await times() == [])
        test.clock.advance(by: 60)
        #expect(await failure { _ = try await reset() }?.description.contains("after that sign-in") == true)
        let time = test.clock.now + 86_400
        #expect(try await times() == [time])
        let account = try await test.accounts.account(id)
        let password = account.keyslots.filter { $0.kind == .password }
        let known = await test.accounts.knownOwnerRefusals(of: password, account)
        #expect(known?.refused.map(\.reason.code) == [.keyLocked])
        #expect(known?.refused.first?.reason.description.contains(time.localText) == true)
        #expect(await test.accounts.knownOwnerRefusals(of: account.keyslots, account) == nil)
    }

    @Test func `when a key is new, then it need not wait`() async throws {
        await lockPIN()
        #expect(try await reset() == [.pin])
        let session = try await test.auth.unlock(id, with: .password(SecretBytes(utf8: Self.password)))
        try await session.setPIN(SecretBytes(utf8: "8264"))
        await test.accounts.finishConfirming()
        await test.auth.lock()
        let account = try await test.accounts.account(id)
        let pin = account.keyslots.filter { $0.kind == .pin }
        #expect(await test.accounts.knownOwnerRefusals(of: pin, account) == nil)
        // The next note drops that of the old key.
        await lockPassword()
        #expect(try await times() == [])
        #expect(try await reset() == [.password])
    }

    @Test func `when one key was unlocked today, then a sign-in unlocks only the other`() async throws {
        await lockPassword()
        #expect(try await reset() == [.password])
        await lockPassword()
        await lockPIN()
        let answer = try await answer()
        #expect(answer.unlocked.map(\.kind) == [.pin] && answer.refused.map(\.slot.kind) == [.password])
        #expect(answer.refused.first?.reason.code == .keyLocked)
    }

    @Test func `when a key is not on the list, then it is named as locked`() async throws {
        let own = service.accessTokenOwner
        // The claim of the new PIN does not arrive.
        service.accessTokenOwner = { _ in nil }
        let session = try await test.auth.login(id, with: .password(SecretBytes(utf8: Self.password)))
        try await session.setPIN(SecretBytes(utf8: "8264"))
        await test.accounts.finishConfirming()
        await test.auth.lock()
        service.accessTokenOwner = own
        // An answer from the same second as the last login counts as older than the login.
        test.clock.advance(by: 1)
        await lockPassword()
        await lockPIN()
        let answer = try await answer()
        #expect(answer.unlocked.map(\.kind) == [.password] && answer.refused.map(\.slot.kind) == [.pin])
        #expect(answer.refused.first?.reason.detail == .keysNotListed)
    }

    @Test func `when no claim was sent, then a sign-in counts as useless`() async throws {
        let listed = try await test.accounts.account(id)
        #expect(await test.accounts.mayBeUnlockedByOwner(listed))
        let other = TestVault(hasProtocol2: true)
        let unlisted = try await other.accounts.account(other.addAccount("alice", password: Self.password))
        #expect(await !other.accounts.mayBeUnlockedByOwner(unlisted))
    }

    @Test func `when another person signs in, then nothing is unlocked`() async throws {
        await lockPassword()
        #expect(await failure { _ = try await reset("bob") }?.code == .tokenInvalid)
        #expect(await failure { try await open() }?.code == .keyLocked)
    }

    @Test func `when the service does not allow it, then nobody signs in`() async throws {
        service.letsOwnersUnlock = false
        let error = await failure { _ = try await reset() }
        #expect(error?.code == .configurationInvalid && error?.detail == .ownerUnlockOff)
    }

    @Test func `when no key is claimed, then only the operator unlocks`() async throws {
        let bob = AccountID(issuer: id.issuer, subject: "bob")
        service.accessTokenOwner = { _ in bob }
        #expect(await failure { _ = try await reset() }?.code == .deviceNotFound)
    }

    @Test func `when no claim was ever sent, then nobody signs in`() async throws {
        let test = TestVault(hasProtocol2: true)
        try #require(test.oprfKeyService).letsOwnersUnlock = true
        let id = try await test.addAccount("alice", password: Self.password)
        let account = try await test.accounts.account(id)
        let error = await failure { try await test.accounts.requireOwnerUnlock(of: account) }
        #expect(error?.code == .deviceNotFound && error?.detail == .keysNotListed)
        let session = try await test.auth.login(id, with: .password(SecretBytes(utf8: Self.password)))
        _ = try await session.devices.list()
        try await test.accounts.requireOwnerUnlock(of: account)
    }
}
