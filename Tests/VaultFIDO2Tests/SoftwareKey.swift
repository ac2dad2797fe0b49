#if FIDO2
    import Crypto
    import Foundation
    import VaultBase

    /// A security key made of software: the parts of CTAP 2.1 for PINs and hmac-secret.
    final class SoftwareKey: Sendable {
        /// The differences from other keys.
        struct Model: Sendable {
            var extensions = ["credProtect", "hmac-secret"]
            /// The PIN protocols, the preferred one first.
            var protocols = [2, 1]
            /// Whether it gives out tokens for only one purpose (`pinUvAuthToken`).
            var hasPermissions = true
            /// Whether the secret with a PIN differs from the secret without a PIN.
            var separatesSecrets = true
            /// Whether it does nothing without a PIN.
            var demandsPIN = false
            var shortestPIN: Int?
            /// Whether it knows CTAP 2 at all.
            var hasCBOR = true
        }

        /// The person's reaction when the key blinks.
        enum Touch: Sendable {
            case atOnce
            case never
            /// The person presses the other button.
            case refused
            /// The key gives up by itself.
            case late
        }

        struct Credential {
            let key: P256.Signing.PrivateKey
            let party: String
            let secretWithPIN: SymmetricKey
            let secretWithoutPIN: SymmetricKey
            let hasSecret: Bool
        }

        struct State {
            var pinHash: [UInt8]?
            var guessesLeft = 8
            var wrongInARow = 0
            var agreementKey = P256.KeyAgreement.PrivateKey()
            var token = SymmetricKey(size: .bits256)
            var credentials: [[UInt8]: Credential] = [:]
            var touch = Touch.atOnce
            var signatures: UInt32 = 0
            /// The commands that it got, with the subcommands of the command for PINs.
            var commands: [[UInt8]] = []
        }

        let model: Model
        let state: Lock<State>

        init(_ model: Model = Model(), pin: String?) {
            self.model = model
            state = Lock(State(pinHash: pin.map(Self.hash)))
        }

        static func hash(pin: String) -> [UInt8] { Array(SHA256.hash(data: Data(pin.utf8)).prefix(16)) }

        static func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: .min ... .max) } }

        var guessesLeft: Int { state.withLock { $0.guessesLeft } }
        var commands: [[UInt8]] { state.withLock { $0.commands } }

        func set(_ touch: Touch) { state.withLock { $0.touch = touch } }
        func set(pinHash: [UInt8]) { state.withLock { $0.pinHash = pinHash } }
        func set(pin: String?) { state.withLock { $0.pinHash = pin.map(Self.hash) } }
        func forgetWrongPINs() { state.withLock { ($0.guessesLeft, $0.wrongInARow) = (8, 0) } }
        func forgetCommands() { state.withLock { $0.commands = [] } }

        /// Resets the key, as its owner does after too many wrong PINs. All its data is gone.
        func reset(pin: String?) { state.withLock { $0 = State(pinHash: pin.map(Self.hash)) } }

        /// Acts as if the key were unplugged.
        func powerOff() {
            state.withLock { state in
                state.wrongInARow = 0
                state.agreementKey = P256.KeyAgreement.PrivateKey()
                state.token = SymmetricKey(size: .bits256)
            }
        }

        /// The result of a command.
        enum Outcome {
            case answer([UInt8])
            /// The result after a touch.
            case answerAfterTouch([UInt8])
        }

        /// Executes a command (CTAP 2.1 section 6, "Authenticator API").
        func outcome(of message: [UInt8]) -> Outcome {
            do {
                guard let command = message.first else { throw KeyStatus.invalidLength }
                let parameters = message.count > 1 ? try CBOR(message.dropFirst()) : .object([:])
                return try state.withLock { state in
                    state.commands.append([command] + (command == 6 ? [UInt8(parameters[2]?.int ?? 0)] : []))
                    switch command {
                    case 1:
                        let answer = try makeCredential(parameters, &state)
                        return .answerAfterTouch([0] + answer.encoded)
                    case 2:
                        let answer = try getAssertion(parameters, &state)
                        let isSilent = parameters[5]?[.text("up")]?.bool == false
                        return isSilent ? .answer([0] + answer.encoded) : .answerAfterTouch([0] + answer.encoded)
                    case 4: return .answer([0] + information(state).encoded)
                    case 6:
                        let answer = try clientPIN(parameters, &state)
                        return .answer([0] + answer.encoded)
                    default: throw KeyStatus.invalidCommand
                    }
                }
            } catch let status as KeyStatus {
                return .answer([status.rawValue])
            } catch is CBOR.Malformed {
                return .answer([KeyStatus.invalidCBOR.rawValue])
            } catch {
                return .answer([KeyStatus.other.rawValue])
            }
        }

        /// CTAP 2.1 section 6.4, "authenticatorGetInfo".
        private func information(_ state: State) -> CBOR {
            var pairs: [CBOR.Pair] = [
                .init(key: .int(1), value: .array([.text("FIDO_2_0"), .text("FIDO_2_1")])),
                .init(key: .int(2), value: .array(model.extensions.map(CBOR.text))),
                .init(key: .int(3), value: .bytes(Array(repeating: 7, count: 16))),
                .init(
                    key: .int(4),
                    value: .object([
                        .text("rk"): .bool(true), .text("up"): .bool(true),
                        .text("clientPin"): .bool(state.pinHash != nil),
                        .text("pinUvAuthToken"): .bool(model.hasPermissions),
                    ])),
                .init(key: .int(5), value: .int(1200)),
                .init(key: .int(6), value: .array(model.protocols.map(CBOR.int))),
            ]
            if let shortest = model.shortestPIN { pairs.append(.init(key: .int(0xD), value: .int(shortest))) }
            return .map(pairs)
        }
    }
#endif
