#if FIDO2
    import VaultBase
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultFIDO2

    @Suite("Damaged bytes never open as something else")
    struct DamageTests {
        let port = SoftwarePort(SoftwareKey(pin: "4711"))
        let secret = TestSecret()
        var provider: FIDO2Provider { FIDO2Provider(port) }

        @Test func `when stored bytes are damaged, then no PIN is requested`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let person = Person("4711")
            for place in protected.bytes.indices {
                for bit in 0..<8 {
                    var bytes = protected.bytes
                    bytes[place] ^= 1 << bit
                    let error = #expect(throws: BiometricError.self) { _ = try StoredForm(bytes) }
                    #expect(error?.code == .failed)
                }
                var bytes = protected.bytes
                bytes[place] ^= 0xFF
                let damaged = ProtectedSecret(bytes: bytes, label: "")
                #expect(try await provider.failure(damaged, by: person).description.contains("damaged"))
                let start = ProtectedSecret(bytes: Array(protected.bytes[..<place]), label: "")
                #expect(try await provider.failure(start, by: person).description.contains("damaged"))
            }
            let longer = ProtectedSecret(bytes: protected.bytes + [0], label: "")
            #expect(try await provider.failure(longer, by: person).description.contains("damaged"))
            guard case .unusable = await provider.availability(of: longer) else {
                Issue.record("What is damaged cannot be used.")
                return
            }
            #expect(person.requests.isEmpty)
        }

        @Test func `when damaged bytes have a valid checksum, then opening fails`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let content = protected.bytes.dropLast(32)
            for place in content.indices {
                var bytes = Array(content)
                bytes[place] ^= 1 << UInt8.random(in: 0..<8)
                bytes += Checksum.of([bytes])
                let error = try await provider.failure(ProtectedSecret(bytes: bytes, label: ""), pin: "4711")
                #expect([.failed, .hardwareReplaced].contains(error.code), "\(place): \(error)")
            }
            // The key counted none of it as a wrong PIN.
            #expect(port.key.guessesLeft == 8)
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when a report is damaged, then no wrong secret opens`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            for _ in 0..<400 {
                let (moment, place) = (Int.random(in: 0..<40), Int.random(in: 0..<64))
                let count = Counter()
                port.changeReports { report in
                    guard count.next() == moment else { return report }
                    var report = report
                    report[place] ^= 1 << UInt8.random(in: 0..<8)
                    return report
                }
                await expectSameOrFailure(protected, "\(moment), \(place)")
                port.changeReports { $0 }
            }
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when an answer is damaged, then no wrong secret opens`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            for _ in 0..<400 {
                let moment = Int.random(in: 0..<10)
                spoilAnswer(moment)
                await expectSameOrFailure(protected, "\(moment)")
                port.changeAnswers { $0 }
            }
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when an enrolment succeeds despite damage, then its secret opens`() async throws {
            var failures = 0
            for _ in 0..<150 {
                let moment = Int.random(in: 0..<14)
                spoilAnswer(moment)
                do {
                    let protected = try await provider.protected(secret, pin: "4711")
                    port.changeAnswers { $0 }
                    #expect(try await provider.opened(protected, pin: "4711") == secret.bytes, "\(moment)")
                } catch is BiometricError {
                    failures += 1
                }
                port.changeAnswers { $0 }
                port.key.forgetWrongPINs()
            }
            #expect((1..<150).contains(failures))
        }

        @Test(arguments: [0, 17, 31])
        func `when the encrypted answer is damaged, then enrolment fails`(_ place: Int) async throws {
            port.changeAnswers { [port] answer in
                let name = Array("hmac-secret".utf8)
                guard port.key.commands.last == [2],
                    let start = answer.indices.first(where: { answer[$0...].starts(with: name) })
                else { return answer }
                var answer = answer
                // The two bytes of the size follow the name.
                answer[start + name.count + 2 + place] ^= 1
                return answer
            }
            let error = try await provider.refusal(secret, by: Person("4711"))
            #expect(error.code == .failed)
            #expect(port.count(of: .blinks) == 2)
        }

        private func spoilAnswer(_ moment: Int) {
            let count = Counter()
            port.changeAnswers { answer in
                guard count.next() == moment else { return answer }
                var random = SystemRandomNumberGenerator()
                return Self.mutated(answer, &random)
            }
        }

        private func expectSameOrFailure(_ protected: ProtectedSecret, _ what: String) async {
            do {
                #expect(try await provider.opened(protected, pin: "4711") == secret.bytes, "\(what)")
            } catch is BiometricError {
                // The error depends on the damaged bytes.
            } catch {
                Issue.record("\(what): \(error)")
            }
            // A damaged answer may make a right PIN look wrong to the key.
            port.key.forgetWrongPINs()
        }

        private static func mutated(_ original: [UInt8], _ random: inout some RandomNumberGenerator) -> [UInt8] {
            var bytes = original
            for _ in 0...Int.random(in: 0...2, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<6, using: &random) {
                case 0: bytes.removeSubrange(place...)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(.random(in: .min ... .max, using: &random), at: place)
                case 3: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF][Int.random(in: 0..<5, using: &random)]
                case 4: bytes = Array(repeating: .random(in: .min ... .max, using: &random), count: bytes.count)
                default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
                if bytes.isEmpty { return [] }
            }
            // libcbor allocates the claimed size of an array or a map before it checks that the data is there.
            let claims: [UInt8] = [0x9A, 0x9B, 0xBA, 0xBB]
            let isClaim = (try? CBOR(bytes.dropFirst())) == nil && bytes.contains(where: claims.contains)
            return isClaim ? original : bytes
        }
    }

    /// Counts from 0.
    private final class Counter: Sendable {
        private let number = Lock(0)

        func next() -> Int {
            number.withLock { number in
                defer { number += 1 }
                return number
            }
        }
    }
#endif
