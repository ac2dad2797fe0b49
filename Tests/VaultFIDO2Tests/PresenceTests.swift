#if FIDO2
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultFIDO2

    @Suite("Without the security key that was enrolled nothing opens")
    struct PresenceTests {
        let port = SoftwarePort(SoftwareKey(pin: "4711"))
        let other = SoftwarePort(SoftwareKey(pin: "4711"), path: "/dev/software1", name: "Other Key")
        let secret = TestSecret()

        @Test func `when another key is present, then no PIN is requested`() async throws {
            let protected = try await FIDO2Provider(port).protected(secret, pin: "4711")
            let elsewhere = FIDO2Provider(other)
            let person = Person("4711")
            #expect(try await elsewhere.failure(protected, by: person).code == .hardwareReplaced)
            #expect(person.requests.isEmpty)
            #expect(await elsewhere.availability(of: protected) == .missing)
            #expect(await elsewhere.availability(of: nil) == .available)
            #expect(other.count(of: .blinks) == 0)
        }

        @Test func `when the key is reset, then it counts as replaced`() async throws {
            let provider = FIDO2Provider(port)
            let protected = try await provider.protected(secret, pin: "4711")
            port.key.reset(pin: "4711")
            #expect(try await provider.failure(protected, pin: "4711").code == .hardwareReplaced)
            #expect(await provider.availability(of: protected) == .missing)
        }

        @Test func `when the key is unplugged, then it is reported missing`() async throws {
            let provider = FIDO2Provider(port)
            let protected = try await provider.protected(secret, pin: "4711")
            port.unplug()
            #expect(try await provider.failure(protected, pin: "4711").code == .hardwareMissing)
            #expect(try await provider.refusal(secret, by: Person("4711")).code == .hardwareMissing)
            #expect(await provider.availability(of: protected) == .missing)
            #expect(await provider.availability(of: nil) == .missing)
            port.plug()
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when two keys are present, then the right one opens`() async throws {
            let protected = try await FIDO2Provider(port).protected(secret, pin: "4711")
            for provider in [FIDO2Provider(port, other), FIDO2Provider(other, port)] {
                #expect(await provider.availability(of: protected) == .available)
                #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            }
            #expect(other.count(of: .blinks) == 0)
            #expect(other.key.commands.allSatisfy { [[2], [4]].contains($0) })
        }

        @Test func `when another key is broken, then the right one opens`() async throws {
            let protected = try await FIDO2Provider(port).protected(secret, pin: "4711")
            other.before { _, _ in throw HIDLink.Unplugged() }
            #expect(try await FIDO2Provider(other, port).opened(protected, pin: "4711") == secret.bytes)
            #expect(try await FIDO2Provider(other, port).protected(secret, pin: "4711").label == "Software Key")
            #expect(try await FIDO2Provider(other).failure(protected, pin: "4711").code == .failed)
        }

        @Test func `when two keys can be enrolled, then enrolment is refused`() async throws {
            let both = FIDO2Provider(port, other)
            let person = Person("4711")
            let error = try await both.refusal(secret, by: person)
            #expect(error.code == .failed)
            #expect(error.description.contains("Leave only the key"))
            #expect(person.requests.isEmpty)
            other.key.set(pin: nil)
            #expect(try await both.protected(secret, pin: "4711").label == "Software Key")
        }

        @Test(arguments: [true, false])
        func `when a key is unfit, then the error names it`(_ hasCBOR: Bool) async throws {
            var model = SoftwareKey.Model()
            model.hasCBOR = hasCBOR
            model.extensions = ["credProtect"]
            let provider = FIDO2Provider(SoftwarePort(SoftwareKey(model, pin: "4711"), name: "Old Key"))
            let error = try await provider.refusal(secret, by: Person("4711"))
            #expect(error.code == .unavailable)
            #expect(error.description.contains("Old Key"))
            let protected = try await FIDO2Provider(port).protected(secret, pin: "4711")
            #expect(try await provider.failure(protected, pin: "4711").code == .hardwareReplaced)
        }

        @Test func `when the key changes mid-typing, then no PIN is sent`() async throws {
            let ports = [port, SoftwarePort(SoftwareKey(pin: "4711"))]
            let provider = FIDO2Provider(ports[0], ports[1])
            ports[1].unplug()
            let protected = try await provider.protected(secret, pin: "4711")
            let person = Person { _ in
                ports[0].unplug()
                ports[1].plug()
                return "0815"
            }
            #expect(try await provider.failure(protected, by: person).code == .hardwareReplaced)
            #expect(ports[1].key.guessesLeft == 8)
        }

        @Test func `when another key takes over enrolment, then enrolment fails`() async throws {
            var model = SoftwareKey.Model()
            model.separatesSecrets = false
            let ports = [SoftwarePort(SoftwareKey(model, pin: "4711")), SoftwarePort(SoftwareKey(pin: "4711"))]
            ports[1].unplug()
            let person = Person(
                { _ in "4711" },
                action: { instruction in
                    guard instruction.contains("once more") else { return }
                    ports[0].unplug()
                    ports[1].plug()
                })
            let error = try await FIDO2Provider(ports[0], ports[1]).refusal(secret, by: person)
            #expect(error.code == .hardwareReplaced)
        }

        @Test func `when keys cannot be listed, then enrolment fails`() async throws {
            struct Unlisted: FIDO2Devices {
                struct Failure: Error {}
                func list() throws -> [FIDO2Device] { throw Failure() }
                func open(_ device: FIDO2Device) throws -> any FIDO2Connection { throw Failure() }
            }
            let error = try await FIDO2Provider(devices: Unlisted()).refusal(secret, by: Person("4711"))
            #expect(error.code == .failed)
            #expect(error.underlying is Unlisted.Failure)
        }

        @Test func `when the key goes midway, then the next call works`() async throws {
            let provider = FIDO2Provider(port)
            let protected = try await provider.protected(secret, pin: "4711")
            port.before { _, _ in }
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            let count = port.steps
            try #require(count > 20)
            for moment in 0..<count {
                port.before { [port] number, _ in
                    if number == moment { port.unplug() }
                }
                do {
                    #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
                    // Signatures differ in length, so this may take one report less.
                    #expect(moment == count - 1)
                } catch let error as BiometricError {
                    #expect(error.code == .hardwareMissing, "\(moment) of \(count): \(error)")
                }
                port.before { _, _ in }
                port.plug()
                #expect(try await provider.opened(protected, pin: "4711") == secret.bytes, "\(moment) of \(count)")
            }
        }

        @Test func `when the right key goes, then the other stays unused`() async throws {
            let protected = try await FIDO2Provider(port).protected(secret, pin: "4711")
            port.before { [port] _, step in
                if step == .write, port.key.commands.last == [6, 2] { port.unplug() }
            }
            let both = FIDO2Provider(other, port)
            #expect(try await both.failure(protected, pin: "4711").code == .hardwareMissing)
            #expect(other.count(of: .blinks) == 0)
            #expect(other.key.guessesLeft == 8)
        }

        @Test func `when the key goes during enrolment, then it is missing`() async throws {
            let provider = FIDO2Provider(port)
            port.before { _, _ in }
            _ = try await provider.protected(secret, pin: "4711")
            let count = port.steps
            for moment in 0..<count {
                port.before { [port] number, _ in
                    if number == moment { port.unplug() }
                }
                do {
                    _ = try await provider.protected(secret, pin: "4711")
                    #expect(moment >= count - 3)
                } catch let error as BiometricError {
                    #expect(error.code == .hardwareMissing, "\(moment) of \(count): \(error)")
                }
                port.before { _, _ in }
                port.plug()
            }
            #expect(try await provider.protected(secret, pin: "4711").label == "Software Key")
        }

        @Test func `when a key's name has control characters, then they vanish`() async throws {
            let name = "Evil\u{1B}[2J\nKey\u{202E}" + String(repeating: "!", count: 200)
            let provider = FIDO2Provider(SoftwarePort(SoftwareKey(pin: "4711"), name: name))
            let person = Person("4711")
            let protected = try await provider.protect(secret.guarded(), prompt: person)
            #expect(protected.label.hasPrefix("Evil[2JKey!"))
            #expect(protected.label.count == 64)
            #expect(person.requests.map(\.label) == [protected.label])
            let nameless = FIDO2Provider(SoftwarePort(SoftwareKey(pin: "4711"), name: " "))
            #expect(try await nameless.protected(secret, pin: "4711").label == "security key")
        }

        @Test func `when this machine's keys are searched, then none matches`() async throws {
            // The keys of this machine, if any, are asked for a credential that none of them has.
            let protected = try await FIDO2Provider(port).protected(secret, pin: "4711")
            #expect(await FIDO2Provider().availability(of: protected) == .missing)
        }
    }
#endif
