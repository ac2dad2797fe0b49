#if TPM2
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultTPM2

    @Suite("A TPM that stops in the middle stops nobody")
    struct InterruptionTests {
        let tpm: SoftwareTPM
        let provider: TPM2Provider
        let secret = TestSecret()

        init() throws {
            tpm = try SoftwareTPM()
            provider = TPM2Provider(tpm.tcti)
        }

        @Test func `when a reset interrupts opening, then the next call works`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let port = tpm.port
            // While the PIN is typed, a reset changes nothing.
            let person = Person { _ in
                try SoftwareTPM.reset(port)
                return "4711"
            }
            #expect(try await provider.opened(protected, by: person) == secret.bytes)

            let count = try await tpm.commandsToOpen(protected, pin: "4711")
            var failures = 0
            for moment in 0..<count {
                let proxy = try BusProxy(to: tpm) { number, command, forward in
                    if number == moment { try SoftwareTPM.reset(port) }
                    return try forward(command)
                }
                defer { proxy.stop() }
                do {
                    #expect(try await TPM2Provider(proxy.tcti).opened(protected, pin: "4711") == secret.bytes)
                } catch let error as BiometricError {
                    failures += 1
                    #expect(error.code == .failed, "\(moment) of \(count): \(error)")
                    #expect(error.description.contains("was reset"), "\(moment) of \(count): \(error)")
                }
                #expect(try tpm.used() == 0, "\(moment) of \(count)")
                try tpm.tool("tpm2_dictionarylockout", "--clear-lockout")
                #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            }
            #expect(failures > 1)
        }

        @Test func `when the TPM hangs anywhere, then opening times out`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let hasty = TPM2Provider(tcti: tpm.tcti, timeLimit: .milliseconds(100))
            tpm.signal(SIGSTOP)
            #expect(try await hasty.failure(protected, pin: "4711").code == .timedOut)
            guard case .unusable(let text) = await hasty.availability(of: protected) else {
                Issue.record("A TPM that hangs cannot be used.")
                return
            }
            #expect(text.contains("did not answer"))
            tpm.signal(SIGCONT)
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)

            let count = try await tpm.commandsToOpen(protected, pin: "4711")
            // TPM2_CreatePrimary, TPM2_Load, TPM2_ContextLoad and TPM2_StartAuthSession; TPM2_FlushContext.
            let (allocating, flush): ([UInt32], UInt32) = ([0x131, 0x157, 0x161, 0x176], 0x165)
            for moment in 0..<count - 3 {
                let gate = ThreadGate()
                let clock = HandClock()
                let proxy = try BusProxy(to: tpm) { number, command, forward in
                    if number == moment {
                        clock.ring()
                        gate.pass()
                    }
                    return try forward(command)
                }
                let slow = TPM2Provider(tcti: proxy.tcti, timeLimit: .seconds(15), clock: clock)
                #expect(try await slow.failure(protected, pin: "4711").code == .timedOut, "\(moment) of \(count)")
                // A cancelled call frees its objects, and sends no other command.
                let before = proxy.codes
                let held = before.count { allocating.contains($0) } - before.count { $0 == flush }
                gate.open()
                while proxy.codes.count < before.count + held { await Task.yield() }
                while try tpm.used() > 0 { await Task.yield() }
                #expect(proxy.codes.dropFirst(before.count).allSatisfy { $0 == flush }, "\(moment) of \(count)")
                proxy.stop()
            }
        }

        @Test func `when the caller cancels, then opening ends at once`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let gate = ThreadGate()
            let (reached, continuation) = AsyncStream.makeStream(of: Void.self)
            let proxy = try BusProxy(to: tpm) { _, command, forward in
                continuation.yield()
                gate.pass()
                return try forward(command)
            }
            defer {
                gate.open()
                proxy.stop()
            }
            let task = Task { _ = try await TPM2Provider(proxy.tcti).opened(protected, pin: "4711") }
            for await _ in reached { break }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
#endif
