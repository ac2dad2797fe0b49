#if FIDO2
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultFIDO2

    @Suite("A security key that stops in the middle stops nobody")
    struct InterruptionTests {
        let port = SoftwarePort(SoftwareKey(pin: "4711"))
        let secret = TestSecret()

        @Test func `when the key is never touched, then opening times out`() async throws {
            let protected = try await FIDO2Provider(port).protected(secret, pin: "4711")
            port.key.set(.never)
            let clock = HandClock()
            let provider = FIDO2Provider(port, clock: clock)
            let blinks = port.count(of: .blinks)
            let task = Task { try await provider.failure(protected, pin: "4711") }
            await port.reaches(.blinks, times: blinks + 1)
            clock.ring()
            let error = try await task.value
            #expect(error.code == .timedOut)
            #expect(error.description.contains("not touched"))
            // The key is told, so it blinks only while somebody waits. The thread ends.
            await port.reaches(.stoppedBlinking)
            await port.isQuiet()
            port.key.set(.atOnce)
            #expect(try await FIDO2Provider(port).opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when the key ends the touch wait, then opening fails`() async throws {
            let provider = FIDO2Provider(port)
            let protected = try await provider.protected(secret, pin: "4711")
            port.key.set(.late)
            #expect(try await provider.failure(protected, pin: "4711").code == .timedOut)
            #expect(try await provider.refusal(secret, by: Person("4711")).code == .timedOut)
            port.key.set(.refused)
            #expect(try await provider.failure(protected, pin: "4711").code == .cancelled)
            port.key.set(.atOnce)
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when the caller cancels, then the key stops blinking`() async throws {
            let provider = FIDO2Provider(port)
            let protected = try await provider.protected(secret, pin: "4711")
            port.key.set(.never)
            let blinks = port.count(of: .blinks)
            let task = Task { _ = try await provider.opened(protected, pin: "4711") }
            await port.reaches(.blinks, times: blinks + 1)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await port.reaches(.stoppedBlinking)
            await port.isQuiet()
        }

        @Test(.timeLimit(.minutes(2)), arguments: [false, true])
        func `when cancellation precedes blinking, then the key still stops`(_ hasOther: Bool) async throws {
            let other = SoftwarePort(SoftwareKey(pin: "4711"), path: "/dev/software1", name: "Other Key")
            let protected = try await FIDO2Provider(port).protected(secret, pin: "4711")
            let provider = hasOther ? FIDO2Provider(other, port) : FIDO2Provider(port)
            port.key.set(.never)
            // The key gets the cancellation, and then the command that makes it blink.
            let (told, gate) = (ThreadGate(), ThreadGate())
            let person = Person(
                { _ in "4711" },
                action: { [port] _ in
                    port.before { [port] _, step in
                        guard step == .write, port.key.commands.last == [6, 9] else { return }
                        told.open()
                        gate.pass()
                    }
                })
            let task = Task { _ = try await provider.opened(protected, by: person) }
            await told.opened()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await port.reaches(.toldToCancel)
            #expect(port.count(of: .blinks) == 3)
            gate.open()
            await port.reaches(.stoppedBlinking)
            await port.isQuiet()
        }

        @Test func `when the key hangs anywhere, then opening times out`() async throws {
            let protected = try await FIDO2Provider(port).protected(secret, pin: "4711")
            port.before { _, _ in }
            #expect(try await FIDO2Provider(port).opened(protected, pin: "4711") == secret.bytes)
            let count = port.steps
            try #require(count > 20)
            for moment in 0..<count {
                let clock = HandClock()
                let gate = ThreadGate()
                port.before { number, _ in
                    if number == moment {
                        clock.ring()
                        gate.pass()
                    }
                }
                do {
                    let slow = FIDO2Provider(port, clock: clock)
                    #expect(try await slow.opened(protected, pin: "4711") == secret.bytes)
                    // Signatures differ in length, so this may take one report less.
                    #expect(moment == count - 1)
                } catch let error as BiometricError {
                    #expect(error.code == .timedOut, "\(moment) of \(count): \(error)")
                }
                // No handle stays open.
                gate.open()
                await port.isQuiet()
                port.before { _, _ in }
                #expect(try await FIDO2Provider(port).opened(protected, pin: "4711") == secret.bytes)
            }
        }

        @Test func `when the key hangs, then it is reported unusable`() async throws {
            let protected = try await FIDO2Provider(port).protected(secret, pin: "4711")
            let clock = HandClock()
            let gate = ThreadGate()
            port.before { _, _ in
                clock.ring()
                gate.pass()
            }
            defer { gate.open() }
            guard case .unusable(let text) = await FIDO2Provider(port, clock: clock).availability(of: protected) else {
                Issue.record("A key that hangs cannot be used.")
                return
            }
            #expect(text.contains("did not answer"))
        }
    }
#endif
