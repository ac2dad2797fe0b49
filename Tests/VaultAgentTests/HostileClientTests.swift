import Foundation
import TestSupport
import Testing
import VaultAgentProtocol
import VaultAuth
import VaultStorage

@testable import VaultAgent

/// Clients that send garbage, half of a request or nothing do not disturb the others.
struct HostileClientTests {
    /// A connection that sends what the test likes.
    private final class RawClient {
        let descriptor: Int32

        init(_ path: String) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            let status = AgentSocket.withAddress(path) { connect(descriptor, $0, $1) }
            try #require(status == 0)
        }

        deinit { close(descriptor) }

        /// Tells the agent that nothing more comes. The client can still read.
        func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

        func send(_ bytes: [UInt8]) { _ = Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

        /// The bytes that arrive until the agent ends the connection.
        func rest() -> [UInt8] {
            var (all, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
            while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 { all += buffer[..<count] }
            return all
        }
    }

    @Test func `when 900 clients stall, then other clients get tokens`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let path = try #require(fixture.client.path)
        let request = AgentRequest.token(AgentAccount(id), AgentTokenWish()).bytes
        let clients = try (0..<900).map { number in
            let client = try RawClient(path)
            client.send(Array(request.prefix(number % request.count)))
            return client
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try await fixture.token(id) } }
            try await group.waitForAll()
        }
        // Clients that complete their request late still get an answer.
        for (number, client) in clients.enumerated().prefix(20) {
            client.send(Array(request.dropFirst(number % request.count)))
            var first: UInt8 = 0
            #expect(recv(client.descriptor, &first, 1, 0) == 1)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `when a client asks without end, then others get tokens`() async throws {
        let fixture = try AgentFixture(version: { 1 })
        let id = try await fixture.held()
        // Only the thread uses it.
        nonisolated(unsafe) let greedy = try RawClient(try #require(fixture.client.path))
        let isOver = Counter()
        defer { isOver.increment() }
        let requests = (0..<50).flatMap { _ in AgentRequest.quickToken(user: "", minimumSeconds: 60).bytes }
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while isOver.value == 0 {
                let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
                _ = Foundation.send(greedy.descriptor, requests, requests.count, flags)
                while recv(greedy.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
            }
        }
        for _ in 0..<10 { _ = try await fixture.token(id) }
    }

    @Test func `when a client sends garbage, then other clients are served`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let path = try #require(fixture.client.path)
        var generator = SystemRandomNumberGenerator()
        for round in 0..<200 {
            let client = try RawClient(path)
            let count = Int.random(in: 1...200, using: &generator)
            var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            // Half of them have a length that fits, so the agent reads the rest.
            if round.isMultiple(of: 2) { bytes = [0, 0, 0, UInt8(count), 1] + bytes }
            client.send(bytes)
        }
        _ = try await fixture.token(id)
    }

    @Test func `when a client's version differs, then the refusal says so`() async throws {
        let fixture = try AgentFixture()
        let client = try RawClient(try #require(fixture.client.path))
        client.send(MessageFrame.bytes(kind: 3, version: 9))
        let answer = client.rest()
        let range = try #require(try MessageFrame.first(in: answer[...], limit: 4096))
        guard case .failed(let failure) = try AgentAnswer(answer[range]) else {
            Issue.record("No failure was told.")
            return
        }
        #expect(failure.message.contains("version"))
        #expect(failure.message.contains("End the agent"))
        #expect(VaultError(failure).detail == .agentOfOtherVersion)
    }

    @Test(.timeLimit(.minutes(1)))
    func `when a client leaves early, then its next request runs`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let (asked, goOn) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        fixture.provider.whenRenewed {
            asked.continuation.yield()
            for await _ in goOn.stream { return }
        }
        let locks = try await fixture.lockEvents(of: id)
        let wish = AgentTokenWish(isForced: true, at: 4e9)
        do {
            let client = try RawClient(try #require(fixture.client.path))
            client.send(
                AgentRequest.token(AgentAccount(id), wish).bytes
                    + AgentRequest.lock(AgentAccount(id), isFinal: false).bytes)
            for await _ in asked.stream { break }
        }
        // The agent answers others, so it has seen the end of the connection.
        for _ in 0..<3 { _ = try await fixture.client.ask(.status) }
        goOn.continuation.yield()
        for await _ in locks { return }
    }

    @Test(.timeLimit(.minutes(1)))
    func `when a half-closed client watches, then the agent drops it`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let (asked, goOn) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        fixture.provider.whenRenewed {
            asked.continuation.yield()
            for await _ in goOn.stream { return }
        }
        let client = try RawClient(try #require(fixture.client.path))
        client.send(
            AgentRequest.token(AgentAccount(id), AgentTokenWish(isForced: true, at: 4e9)).bytes
                + AgentRequest.watch(AgentAccount(id)).bytes)
        client.endSending()
        for await _ in asked.stream { break }
        // The agent answers others, so it has seen the end of the client's side.
        for _ in 0..<3 { _ = try await fixture.client.ask(.status) }
        goOn.continuation.yield()
        // Both answers arrive, and then the agent closes its descriptor. Without that, this would wait forever.
        var answers = client.rest()[...]
        for isToken in [true, false] {
            let range = try #require(try MessageFrame.first(in: answers, limit: 4096))
            let answer = try AgentAnswer(answers[range])
            if case .token = answer { #expect(isToken) } else { #expect(!isToken && answer == .done) }
            answers = answers[range.endIndex...]
        }
        #expect(fixture.sessions.all.count == 1)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func `when a half-closed client is slow, then all answers arrive`(alsoWatches: Bool) async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let client = try RawClient(try #require(fixture.client.path))
        let content = [UInt8](repeating: 7, count: 128 * 1024)
        // More than a socket takes.
        for _ in 0..<8 { client.send(AgentRequest.seal(AgentAccount(id), item: "notes", content).bytes) }
        if alsoWatches { client.send(AgentRequest.watch(nil).bytes) }
        client.endSending()
        // The client is slow: meanwhile the agent sends what the socket takes, and answers others.
        for _ in 0..<20 { _ = try await fixture.client.ask(.status) }
        var answers = client.rest()[...]
        for _ in 0..<8 {
            let range = try #require(try MessageFrame.first(in: answers, limit: MessageFrame.longestAnswer))
            guard case .data(let sealed) = try AgentAnswer(answers[range]) else {
                Issue.record("Nothing was sealed.")
                return
            }
            #expect(sealed.count > content.count)
            answers = answers[range.endIndex...]
        }
    }

    @Test func `when requests arrive in one piece, then each is answered`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let connection = try fixture.client.connection(timeout: nil)
        for _ in 0..<20 { try connection.send(.token(AgentAccount(id), AgentTokenWish())) }
        for _ in 0..<20 {
            guard case .token = try connection.next() else {
                Issue.record("No token.")
                return
            }
        }
    }
}
