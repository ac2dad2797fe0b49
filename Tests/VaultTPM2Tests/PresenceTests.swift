#if TPM2
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultTPM2

    @Suite("Without the TPM that was enrolled nothing opens")
    struct PresenceTests {
        let tpm: SoftwareTPM
        let provider: TPM2Provider
        let secret = TestSecret()

        init() throws {
            tpm = try SoftwareTPM()
            provider = TPM2Provider(tpm.tcti)
        }

        @Test func `when another TPM is present, then no PIN is requested`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let second = try SoftwareTPM()
            let elsewhere = TPM2Provider(second.tcti)
            let person = Person("4711")
            #expect(try await elsewhere.failure(protected, by: person).code == .hardwareReplaced)
            #expect(person.requests.isEmpty)
            #expect(await elsewhere.availability(of: protected) == .missing)
            #expect(await elsewhere.availability(of: nil) == .available)
            // A TPM that is exchanged while the PIN is typed gets no guess.
            let proxy = try BusProxy(to: tpm) { [port = second.port] number, command, forward in
                guard number >= 3 else { return try forward(command) }
                let socket = try Socket.connected(to: .port(port))
                try socket.write(command)
                return try socket.readMessage()
            }
            defer { proxy.stop() }
            #expect(try await TPM2Provider(proxy.tcti).failure(protected, pin: "4711").code == .hardwareReplaced)
        }

        @Test(arguments: [false, true])
        func `when the TPM is cleared, then it counts as replaced`(_ hasOtherKey: Bool) async throws {
            if hasOtherKey { try tpm.provision("-G", "ecc") }
            let protected = try await provider.protected(secret, pin: "4711")
            try tpm.tool("tpm2_clear")
            if hasOtherKey {
                try tpm.provision("-G", "ecc")
                try tpm.tool("tpm2_changeauth", "-c", "owner", "geheim")
            }
            #expect(try await provider.failure(protected, pin: "4711").code == .hardwareReplaced)
            #expect(await provider.availability(of: protected) == .missing)
        }

        @Test func `when the TPM is off, then it is reported missing`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            try tpm.powerOff()
            #expect(try await provider.failure(protected, pin: "4711").code == .hardwareMissing)
            #expect(await provider.availability(of: protected) == .missing)
            #expect(await provider.availability(of: nil) == .missing)
            let error = await #expect(throws: BiometricError.self) {
                _ = try await provider.protected(secret, pin: "4711")
            }
            #expect(error?.code == .hardwareMissing)
            try tpm.powerOn()
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when the TPM goes midway, then the next call works`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let count = try await tpm.commandsToOpen(protected, pin: "4711")
            for last in 0..<count {
                let proxy = try BusProxy(to: tpm) { number, command, forward in
                    if number >= last { throw Socket.Broken(call: "cut") }
                    return try forward(command)
                }
                defer { proxy.stop() }
                // The last commands only tidy up.
                do {
                    #expect(try await TPM2Provider(proxy.tcti).opened(protected, pin: "4711") == secret.bytes)
                    #expect(last >= count - 3, "\(last) of \(count)")
                } catch let error as BiometricError {
                    #expect(error.code == .hardwareMissing, "\(last) of \(count): \(error)")
                }
                // This TPM has no resource manager that would do it.
                try tpm.reset()
                try tpm.tool("tpm2_dictionarylockout", "--clear-lockout")
            }
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when the TPM is unusable, then the error gives advice`() async throws {
            let none = TPM2Provider(tcti: "device:/nowhere/tpmrm0")
            #expect(await none.availability(of: nil) == .missing)
            let missing = await #expect(throws: BiometricError.self) {
                _ = try await none.protected(secret, pin: "4711")
            }
            #expect(missing?.code == .hardwareMissing)
            #expect(missing?.description.contains("/nowhere/tpmrm0") == true)
            #expect(missing?.description.contains("firmware settings") == true)
            #expect(await TPM2Provider(tcti: "device:/dev/null").availability(of: nil) == .missing)

            let denied = TPMDevice(path: "/dev/tpmrm0").problem(EACCES)
            #expect(denied.code == .notPermitted)
            #expect(denied.description.contains("Join its group, on most systems `tss`"))

            guard case .unusable(let text) = await TPM2Provider(tcti: "nonsense").availability(of: nil) else {
                Issue.record("There is no such interface.")
                return
            }
            #expect(text.contains("nonsense"))
        }
    }
#endif
