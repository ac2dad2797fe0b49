#if PKCS11
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultPKCS11

    extension PKCS11Tests {
        @Suite("Whoever waits for a call that hangs stops when nobody waits for them", .timeLimit(.minutes(2)))
        struct TurnTests {
            private let thread = HardwareThread.forToken(limit: .seconds(60), clock: ContinuousClock())

            /// Runs `body` on a thread until the test is over.
            private func hang(_ body: @escaping @Sendable (_ untilTheEnd: () -> Void) throws -> Void) async
                -> ThreadGate
            {
                let (begun, end) = (ThreadGate(), ThreadGate())
                Thread.detachNewThread { @Sendable in
                    try? body {
                        begun.open()
                        end.pass()
                    }
                }
                await begun.opened()
                return end
            }

            /// A caller that waits at first, and then gives up.
            private func isGivenUpSoon() -> @Sendable () -> Bool {
                let asked = ThreadFlag()
                return {
                    defer { asked.raise(asked.level + 1) }
                    return asked.level > 0
                }
            }

            @Test func `when a token is busy, then a cancelled call ends`() async throws {
                let gate = TokenGate()
                let token = TokenIdentity(manufacturer: "Maker", model: "Model", serial: "1", label: "token")
                let end = await hang { untilTheEnd in
                    try gate.pass(token, isGivenUp: { false }) { untilTheEnd() }
                }
                defer { end.open() }
                let isGivenUp = isGivenUpSoon()
                await #expect(throws: CancellationError.self) {
                    try await thread.run { _ in try gate.pass(token, isGivenUp: isGivenUp) {} }
                }
                // Another token is not affected.
                let other = TokenIdentity(manufacturer: "Maker", model: "Model", serial: "2", label: "token")
                try await thread.run { isGivenUp in try gate.pass(other, isGivenUp: isGivenUp) {} }
                end.open()
                try await thread.run { isGivenUp in try gate.pass(token, isGivenUp: isGivenUp) {} }
            }

            @Test func `when a module start hangs, then a cancelled call ends`() async throws {
                let token = try SoftToken()
                let uri = token.server.uri
                let connection = TokenConnection(uri)
                try await thread.run { try connection.open(isGivenUp: $0) }
                let end = await hang { untilTheEnd in TokenConnection.startOrStop.withLock { untilTheEnd() } }
                defer { end.open() }
                let isGivenUp = isGivenUpSoon()
                await #expect(throws: CancellationError.self) {
                    try await thread.run { _ in try TokenConnection(uri).open(isGivenUp: isGivenUp) }
                }
                // A connection that was already open is closed later.
                let isNotWanted = isGivenUpSoon()
                try await thread.run { _ in
                    try connection.open(isGivenUp: isNotWanted)
                    connection.close()
                }
                end.open()
                #expect(try await PKCS11Tokens.list(uri: uri).count == 1)
            }
        }
    }
#endif
