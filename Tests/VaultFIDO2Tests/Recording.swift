#if FIDO2
    import Foundation
    import VaultBase
    import VaultBiometric

    @testable import VaultFIDO2

    /// A recorded conversation with a key. It answers each command with the key's answer to a command of the same kind.
    ///
    /// This works until messages are encrypted under a key that both ends have just agreed on.
    final class Recording: FIDO2Devices {
        /// The stored data from the enrolment of the key.
        let stored: ProtectedSecret
        private let exchanges: Lock<[Exchange]>

        fileprivate struct Exchange {
            let kind: [UInt8]
            var reports: [[UInt8]] = []
        }

        struct Unreadable: Error {}
        struct NotRecorded: Error {}

        init(_ name: String) throws {
            let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            let file = folder.appendingPathComponent("Recordings/\(name).txt")
            var form: [UInt8] = []
            var exchanges: [Exchange] = []
            var request = RequestReader()
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let words = line.split(separator: " ")
                switch words[0] {
                case "form": form = try Self.bytes(words[1])
                case ">":
                    if let message = request.add(try Self.report(words[1])) {
                        exchanges.append(Exchange(kind: try Self.kind(of: message)))
                    }
                case "<": exchanges[exchanges.count - 1].reports.append(try Self.report(words[1]))
                default: continue
                }
            }
            stored = ProtectedSecret(bytes: form, label: "Solo")
            self.exchanges = Lock(exchanges)
        }

        private static func bytes(_ hex: Substring) throws -> [UInt8] {
            let digits = Array(hex)
            return try stride(from: 0, to: digits.count, by: 2).map {
                guard let byte = UInt8(String(digits[$0...$0 + 1]), radix: 16) else { throw Unreadable() }
                return byte
            }
        }

        private static func report(_ hex: Substring) throws -> [UInt8] {
            let bytes = try bytes(hex)
            return bytes + [UInt8](repeating: 0, count: 64 - bytes.count)
        }

        /// The command, and its subcommand if it is the command for PINs.
        private static func kind(of message: RequestReader.Message) throws -> [UInt8] {
            guard message.command == 0x90, message.bytes.first == 6 else {
                return [message.command] + message.bytes.prefix(message.command == 0x90 ? 1 : 0)
            }
            guard let subcommand = try CBOR(message.bytes.dropFirst())[2]?.int else { throw Unreadable() }
            return [message.command, 6, UInt8(subcommand)]
        }

        func list() -> [FIDO2Device] { [FIDO2Device(path: "recorded", name: "Solo")] }

        func open(_ device: FIDO2Device) -> any FIDO2Connection { Replay(of: self) }

        /// The next answer of its kind. After the last one, the last one again.
        private func answer(to message: RequestReader.Message) throws -> [[UInt8]] {
            let kind = try Self.kind(of: message)
            return try exchanges.withLock { exchanges in
                guard let index = exchanges.firstIndex(where: { $0.kind == kind }) else { throw NotRecorded() }
                let reports = exchanges[index].reports
                if exchanges.count(where: { $0.kind == kind }) > 1 { exchanges.remove(at: index) }
                return reports
            }
        }

        private final class Replay: FIDO2Connection {
            private let recording: Recording
            private let state = Lock((request: RequestReader(), reports: [[UInt8]]()))

            init(of recording: Recording) { self.recording = recording }

            func read(within limit: Duration?) -> [UInt8]? {
                state.withLock { $0.reports.isEmpty ? nil : $0.reports.removeFirst() }
            }

            func write(_ report: [UInt8]) throws {
                try state.withLock { state in
                    guard let message = state.request.add(report) else { return }
                    // On the current channel.
                    state.reports = try recording.answer(to: message).map { Array(report[..<4] + $0[4...]) }
                    // The answer that begins the conversation repeats the random number of the request.
                    if message.command == 0x86 { state.reports[0].replaceSubrange(7..<15, with: message.bytes) }
                }
            }

            func close() {}
        }
    }

    /// Puts messages together from reports (CTAP 2.1 section 11.2, "USB HID").
    struct RequestReader {
        struct Message {
            let command: UInt8
            let bytes: [UInt8]
        }

        private var begun: (command: UInt8, size: Int, bytes: [UInt8])?

        /// - Returns: the message, when it is complete.
        mutating func add(_ report: [UInt8]) -> Message? {
            if report[4] & 0x80 == 0 {
                begun?.bytes += report[5...]
            } else {
                begun = (report[4], Int(report[5]) << 8 | Int(report[6]), Array(report[7...]))
            }
            guard let message = begun, message.bytes.count >= message.size else { return nil }
            begun = nil
            return Message(command: message.command, bytes: Array(message.bytes[..<message.size]))
        }
    }
#endif
