import CredentialVault
import HTTPTypes
import Testing
import VaultTesting

@testable import SharedDesk

@Suite struct DeskTests {
    let test: TestVault
    let network = FakeTransport { request, _ in
        let isAlice = request.headerFields[.authorization]?.hasPrefix("Bearer access-alice") == true
        return HTTPAnswer(status: isAlice ? .ok : .unauthorized, body: Array("[\"Ms Grey\"]".utf8))
    }
    let desk: Desk

    init() async throws {
        test = TestVault()
        try await test.addAccount("alice", name: "Alice Adams", password: "tea at half past four", pin: "8264")
        try await test.addAccount("bob", password: "coffee at nine o'clock")
        desk = Desk(
            vault: Vault(auth: test.auth, storage: test.storage),
            api: "https://api.example.com", network: network)
    }

    private func id(_ name: String) async throws -> AccountID { try await desk.vault.storage.account(userID: name).id }

    private func take(_ name: String, pin: String) async throws -> String {
        try await desk.take(id(name), with: .pin(SecretBytes(utf8: pin)))
    }

    @Test func `when Bob takes the desk, then his session replaces Alice's`() async throws {
        #expect(try await desk.people().map(\.hasPIN) == [true, false])
        #expect(try await take("alice", pin: "8264") == "Hello Alice Adams.")
        #expect(try await desk.patients() == ["Ms Grey"])
        _ = try await desk.take(id("bob"), with: .password(SecretBytes(utf8: "coffee at nine o'clock")))
        #expect(try await desk.vault.auth.session?.id == id("bob"))
        await #expect(throws: HTTPStatusError.self) { try await desk.patients() }
    }

    @Test func `when a PIN is wrong, then the remaining guesses show`() async throws {
        let error = await #expect(throws: VaultError.self) { try await take("alice", pin: "1111") }
        #expect(error?.unlockMethod == .pin)
        #expect(try Desk.advice(for: #require(error)) == "Wrong PIN or password. Guesses left: 2. Try again.")
    }

    @Test func `when a PIN is wrong, then Alice's desk stays open`() async throws {
        _ = try await take("alice", pin: "8264")
        for name in ["alice", "bob"] {
            let error = await #expect(throws: VaultError.self) { try await take(name, pin: "1111") }
            #expect(error?.code == (name == "alice" ? .wrongSecret : .notEnrolled))
        }
        #expect(try await desk.patients() == ["Ms Grey"])
    }

    @Test func `when the key service fails, then advice promises no notes`() async throws {
        test.keyService.isReachable = false
        let error = await #expect(throws: VaultError.self) { try await take("alice", pin: "8264") }
        #expect(try !Desk.advice(for: #require(error)).contains("notes"))
    }

    @Test func `when the provider fails, then the notes are available`() async throws {
        _ = try await take("alice", pin: "8264")
        try await desk.add(note: "Room 4: bandage")
        for answer in [FakeProvider.Answer.outage, .refusal] {
            await desk.vault.auth.lock()
            test.provider.answer(with: answer)
            #expect(try await take("alice", pin: "8264").hasPrefix("Hello Alice Adams. "))
            #expect(try await desk.notes() == ["Room 4: bandage"])
        }
    }

    @Test func `when the idle timeout passes, then the session locks`() async throws {
        let clock = ManualContinuousClock()
        _ = try await take("alice", pin: "8264")
        let updates = desk.vault.auth.sessionUpdates(replaying: true)
        await desk.vault.auth.enableIdleTimeout(.seconds(120), clock: clock) {}
        await clock.waitForSleeper()
        clock.advance(by: .seconds(120))
        var events: [SessionUpdate.Event] = []
        for await update in updates {
            events.append(update.event)
            if update.event == .locked { break }
        }
        #expect(events == [.loggedIn, .locked])
        #expect(desk.vault.auth.session == nil)
    }
}
