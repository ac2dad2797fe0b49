#if FIDO2
    import Foundation
    import VaultBase

    @testable import VaultFIDO2

    /// The USB end of a ``SoftwareKey``: reports of 64 bytes (CTAP 2.1 section 11.2, "USB HID").
    final class HIDLink: FIDO2Connection, @unchecked Sendable {
        struct Unplugged: Error {}

        // Everything below is touched only while the condition is locked.
        private let condition = NSCondition()
        private let port: SoftwarePort
        private var reports: [[UInt8]] = []
        private var channel: UInt32 = 0
        private var request = RequestReader()
        private var awaitsTouch = false
        private var isBroken = false

        private static let (ping, initialize, cbor, cancel): (UInt8, UInt8, UInt8, UInt8) = (0x81, 0x86, 0x90, 0x91)
        private static let (keepalive, error): (UInt8, UInt8) = (0xBB, 0xBF)

        init(_ port: SoftwarePort) { self.port = port }

        /// Acts as if the plug were pulled.
        func cut() {
            condition.withLock {
                isBroken = true
                condition.broadcast()
            }
        }

        /// The key works within `write`. If nothing can be read and nothing blinks, nothing will ever come. Waiting is
        /// useless.
        func read(within limit: Duration?) throws -> [UInt8]? {
            try port.passes(.read)
            return try condition.withLock {
                while reports.isEmpty && !isBroken {
                    guard awaitsTouch else { return nil }
                    condition.wait()
                }
                if isBroken { throw Unplugged() }
                return port.sent(reports.removeFirst())
            }
        }

        func close() { port.happens(.closed) }

        func write(_ report: [UInt8]) throws {
            try port.passes(report[4] == Self.cancel ? .cancel : .write)
            try condition.withLock {
                if isBroken { throw Unplugged() }
                defer { condition.broadcast() }
                let from = report[..<4].reduce(0) { $0 << 8 | UInt32($1) }
                if report[4] == Self.cancel {
                    port.happens(.toldToCancel)
                    if awaitsTouch, from == channel { answerCancelled() }
                } else if let message = request.add(report) {
                    handle(message.command, message.bytes, on: from)
                }
            }
        }

        private func handle(_ command: UInt8, _ payload: [UInt8], on from: UInt32) {
            switch command {
            case Self.initialize:
                channel = .random(in: 1..<0xFFFF_FFFF)
                let number = withUnsafeBytes(of: channel.bigEndian) { Array($0) }
                // Protocol 2, version 1.2.3 of the device, and whether it knows CTAP 2.
                let abilities: UInt8 = port.key.model.hasCBOR ? 0x04 : 0
                send(Self.initialize, payload + number + [2, 1, 2, 3, abilities], on: from)
            case Self.cbor where from == channel:
                switch port.key.outcome(of: payload) {
                case .answer(let answer): send(Self.cbor, port.answered(answer), on: channel)
                case .answerAfterTouch(let answer): touch(answer)
                }
            case Self.ping where from == channel: send(Self.ping, payload, on: channel)
            default: send(Self.error, [0x01], on: from)
            }
        }

        private func touch(_ answer: [UInt8]) {
            // The key reports that it works, and that it blinks.
            send(Self.keepalive, [1], on: channel)
            send(Self.keepalive, [2], on: channel)
            port.happens(.blinks)
            switch port.key.state.withLock({ $0.touch }) {
            case .atOnce: send(Self.cbor, port.answered(answer), on: channel)
            case .never: awaitsTouch = true
            case .refused: send(Self.cbor, [KeyStatus.operationDenied.rawValue], on: channel)
            case .late: send(Self.cbor, [KeyStatus.userActionTimeout.rawValue], on: channel)
            }
        }

        private func answerCancelled() {
            awaitsTouch = false
            send(Self.cbor, [KeyStatus.keepaliveCancel.rawValue], on: channel)
            port.happens(.stoppedBlinking)
        }

        private func send(_ command: UInt8, _ payload: [UInt8], on channel: UInt32) {
            let address = withUnsafeBytes(of: channel.bigEndian) { Array($0) }
            var report = address + [command, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
            var rest = payload[...]
            var sequence: UInt8 = 0
            while true {
                let count = min(64 - report.count, rest.count)
                report += rest.prefix(count)
                rest.removeFirst(count)
                reports.append(report + [UInt8](repeating: 0, count: 64 - report.count))
                if rest.isEmpty { return }
                report = address + [sequence]
                sequence += 1
            }
        }
    }
#endif
