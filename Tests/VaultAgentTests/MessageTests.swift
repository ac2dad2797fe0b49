import Testing
import VaultAgentProtocol

/// The messages between agent and client: written and read again, and read from random bytes.
struct MessageTests {
    static let account = AgentAccount(issuer: "https://login.example", subject: "alice ü")

    static let contact = AgentContact(isOffline: true, isConfirmed: false, mayBeRevoked: true)

    static let requests: [AgentRequest] = [
        .quickToken(user: "alice", minimumSeconds: 60), .accountTable, .status,
        .hold(
            account, vaultKey: Array(0..<32), HoldingRules(idleSeconds: 1, lifetimeSeconds: 2, isExclusive: true),
            contact, locks: .max), .locks, .attach(account),
        .token(account, AgentTokenWish(isForced: true, minimumSeconds: 5, rejected: "old", at: 1.5)),
        .token(account, AgentTokenWish(audience: "https://keys.example")),
        .proofKey(account), .seal(account, item: "notes", [1, 2]), .open(account, item: "notes", []),
        .setPIN(account, [7], ticket: [8, 9]), .check(account, kind: "password", [1]), .lock(nil, isFinal: false),
        .lock(account, isFinal: true), .watch(nil), .watch(account), .stop(isForced: true),
        .streamKey(account, item: "photos"), .logOutEverywhere(account),
        .logoutURL(account, redirectURI: "app:/out", state: nil),
    ]

    static let answers: [AgentAnswer] = [
        .failed(AgentFailure(code: "busy", message: "Try again.")),
        .failed(AgentFailure(code: "c", message: "m", facts: ["rule": "r", "number": "7", "": "ü\n"])),
        .done, .notAtHand,
        .token(
            AgentToken(value: "t", tokenType: "Bearer", expiresAt: nil, scope: "a b", obtainedAt: 9, isNew: true)),
        .data([0, 255]), .text("line\n"), .attached(contact, refusal: AgentFailure(code: "c", message: "m")),
        .status(
            AgentStatus(
                process: 7, folder: "/f", isConfirming: true, listening: ["logind: sleep"],
                sessions: [
                    AgentHolding(
                        account: account, name: "alice", isOffline: false, idleLeft: 3, lifetimeLeft: nil, refusal: nil)
                ], locked: [account])),
        .event(AgentEvent(account: account, event: "locked", reason: "idle", failure: nil)),
        .loggedOut(nil), .loggedOut(AgentFailure(code: "c", message: "m")), .locks(7),
    ]

    private func message(_ bytes: [UInt8]) throws -> ArraySlice<UInt8> {
        let range = try #require(try MessageFrame.first(in: bytes[...], limit: MessageFrame.longestAnswer))
        #expect(range.upperBound == bytes.count)
        return bytes[range]
    }

    @Test(arguments: requests)
    func `when a request is written, then reading returns it`(_ request: AgentRequest) throws {
        #expect(try AgentRequest(message(request.bytes)) == request)
    }

    @Test(arguments: answers)
    func `when an answer is written, then reading returns it`(_ answer: AgentAnswer) throws {
        #expect(try AgentAnswer(message(answer.bytes)) == answer)
    }

    @Test(arguments: requests)
    func `when a request has a wrong length, then reading fails`(_ request: AgentRequest) throws {
        let whole = Array(try message(request.bytes))
        for count in 0..<whole.count {
            #expect(throws: AgentProtocolError.self) { try AgentRequest(whole[..<count]) }
        }
        #expect(throws: AgentProtocolError.self) { try AgentRequest((whole + [0])[...]) }
    }

    @Test func `when a length exceeds the limit, then reading fails early`() {
        #expect(throws: AgentProtocolError.self) {
            try MessageFrame.first(in: [0, 255, 255, 255], limit: MessageFrame.longestRequest)
        }
    }

    @Test func `when a request has another version, then reading names it`() throws {
        var bytes = Array(try message(AgentRequest.status.bytes))
        bytes[0] = 9
        do {
            _ = try AgentRequest(bytes[...])
            Issue.record("It was read.")
        } catch {
            guard case .otherVersion(9) = error else {
                Issue.record(error)
                return
            }
        }
        // The reason for the refusal is still understood.
        var refusal = Array(try message(AgentAnswer.failed(AgentFailure(code: "c", message: "m")).bytes))
        refusal[0] = 9
        #expect(try AgentAnswer(refusal[...]) == .failed(AgentFailure(code: "c", message: "m")))
    }
}
