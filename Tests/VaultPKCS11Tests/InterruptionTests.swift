#if PKCS11
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultPKCS11

    extension PKCS11Tests {
        @Suite("A module that stops in the middle stops nobody")
        struct InterruptionTests {
            let secret = TestSecret()

            @Test func `when the server is stopped, then calls time out`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                let hasty = PKCS11Provider(uri: token.server.uri, timeLimit: .milliseconds(100))
                token.server.signal(SIGSTOP)
                let error = try await hasty.failure(protected)
                #expect(error.code == .timedOut)
                #expect(error.description.contains("did not answer"))
                guard case .unusable(let text) = await hasty.availability(of: protected) else {
                    Issue.record("A token that hangs cannot be used.")
                    return
                }
                #expect(text.contains("did not answer"))
                let listing = await #expect(throws: BiometricError.self) {
                    _ = try await PKCS11Tokens.list(uri: token.server.uri, timeLimit: .milliseconds(100))
                }
                #expect(listing?.code == .timedOut)
                token.server.signal(SIGCONT)
                #expect(try await token.provider.opened(protected) == secret.bytes)
            }

            @Test func `when the module hangs anywhere, then opening times out`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                let quiet = try TokenProxy(to: token.server)
                _ = try await quiet.provider.opened(protected)
                quiet.stop()
                let count = quiet.messages.count
                for moment in 0..<count {
                    let gate = ThreadGate()
                    let clock = HandClock()
                    let proxy = try TokenProxy(to: token.server) { number, message, forward in
                        if number == moment {
                            clock.ring()
                            gate.pass()
                        }
                        return try forward(message)
                    }
                    defer { proxy.stop() }
                    let slow = PKCS11Provider(uri: proxy.uri, timeLimit: .seconds(60), clock: clock)
                    #expect(try await slow.failure(protected).code == .timedOut, "\(moment) of \(count)")
                    // A cancelled call logs out, closes its session, and sends no other request.
                    let before = proxy.messages.count
                    gate.open()
                    while proxy.count(.finalize) < 1 { await Task.yield() }
                    let after = proxy.messages[before...].map(\.call)
                    let tidying: [RPCMessage.Call?] = [
                        .logOut, .closeSession, .finalize, .findObjectsFinal, .destroyObject,
                    ]
                    #expect(after.allSatisfy(tidying.contains), "\(moment) of \(count): \(after)")
                    #expect(proxy.count(.openSession) == proxy.count(.closeSession), "\(moment) of \(count)")
                }
                #expect(try await token.provider.opened(protected) == secret.bytes)
            }

            @Test func `when the caller cancels, then opening ends at once`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                let gate = ThreadGate()
                let (reached, continuation) = AsyncStream.makeStream(of: Void.self)
                let proxy = try TokenProxy(to: token.server) { _, message, forward in
                    continuation.yield()
                    gate.pass()
                    return try forward(message)
                }
                defer {
                    gate.open()
                    proxy.stop()
                }
                let provider = proxy.provider
                let task = Task { _ = try await provider.opened(protected) }
                for await _ in reached { break }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
        }
    }
#endif
