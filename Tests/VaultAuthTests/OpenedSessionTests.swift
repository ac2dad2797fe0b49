import CredentialVault
import Testing
import VaultTesting

/// What an error of a login says about the account: open because of this call, or not.
@Suite struct OpenedSessionTests {
    private let test = TestVault()
    private let alice: AccountID
    private let bob: AccountID

    init() async throws {
        alice = try await test.addAccount("alice", name: "Alice Adams", password: "tea at half past four", pin: "8264")
        bob = try await test.addAccount("bob", password: "coffee at nine o'clock", pin: "7391")
    }

    private func error(of id: AccountID, pin: String) async -> VaultError? {
        await failure { try await test.auth.login(id, with: .pin(SecretBytes(utf8: pin))) }
    }

    @Test func `when a PIN fails, then the error has no session`() async throws {
        let open = try await test.auth.login(alice, with: .pin(SecretBytes(utf8: "8264")))
        for id in [alice, bob] {
            let error = await error(of: id, pin: "0815")
            #expect(error?.code == .wrongSecret && error?.openedSession == nil)
            // The earlier person is still there, so an app must not ask for the session after an error.
            #expect(test.auth.session === open && open.isOpen)
        }
    }

    @Test(arguments: [FakeProvider.Answer.outage, .refusal])
    func `when the provider fails, then the error has the session`(answer: FakeProvider.Answer) async throws {
        let earlier = try await test.auth.login(bob, with: .pin(SecretBytes(utf8: "7391")))
        test.provider.answer(with: answer)
        let error = await error(of: alice, pin: "8264")
        let session = try #require(error?.openedSession)
        #expect(session.id == alice && session.isOpen && !earlier.isOpen)
        try await session.items.set("note", to: [1])
        #expect(try await session.identity().name == "Alice Adams")
        // An app may keep the error. It opens nothing after the lock.
        await test.auth.lock()
        #expect(error?.openedSession?.isOpen == false)
        #expect(await failure { _ = try await session.items.get("note") } != nil)
    }

    @Test func `when a session's error is dumped, then no secret shows`() async throws {
        test.provider.answer(with: .outage)
        let error = try #require(await error(of: alice, pin: "8264"))
        var text = ""
        dump(error, to: &text)
        #expect(text.contains("alice") && !text.contains("vaultKey") && !text.contains("refresh-"))
    }
}
