#if FIDO2
    import Foundation
    import VaultBase

    @testable import VaultFIDO2

    /// The port of a ``SoftwareKey``, where a test can cause faults.
    final class SoftwarePort: Sendable {
        enum Step: Sendable { case open, read, write, cancel }

        enum Event: Sendable, Hashable {
            case opened
            case blinks
            case toldToCancel
            case stoppedBlinking
            case closed
        }

        private struct State {
            var isPlugged = true
            var links: [WeakLink] = []
            var steps = 0
            var events: [Event] = []
            var waiting: [(event: Event, count: Int, continuation: CheckedContinuation<Void, Never>)] = []
            var before: @Sendable (Int, Step) throws -> Void = { _, _ in }
            var report: @Sendable ([UInt8]) -> [UInt8] = { $0 }
            var answer: @Sendable ([UInt8]) -> [UInt8] = { $0 }
        }

        private struct WeakLink {
            weak var link: HIDLink?
        }

        let key: SoftwareKey
        let device: FIDO2Device
        private let state = Lock(State())

        init(_ key: SoftwareKey, path: String = "/dev/software0", name: String = "Software Key") {
            self.key = key
            device = FIDO2Device(path: path, name: name)
        }

        var isPlugged: Bool { state.withLock { $0.isPlugged } }
        /// The number of calls that opened, read or wrote.
        var steps: Int { state.withLock { $0.steps } }

        /// Runs code before each step. Steps count from 0. An error makes the step fail.
        func before(_ body: @escaping @Sendable (Int, Step) throws -> Void) {
            state.withLock { state in
                state.steps = 0
                state.before = body
            }
        }

        /// Changes the reports that the key sends.
        func changeReports(_ body: @escaping @Sendable ([UInt8]) -> [UInt8]) { state.withLock { $0.report = body } }

        /// Changes the whole messages that the key sends, including their status.
        func changeAnswers(_ body: @escaping @Sendable ([UInt8]) -> [UInt8]) { state.withLock { $0.answer = body } }

        func unplug() {
            let links = state.withLock { state in
                state.isPlugged = false
                return state.links
            }
            key.powerOff()
            for link in links { link.link?.cut() }
        }

        func plug() { state.withLock { $0.isPlugged = true } }

        func open() throws -> HIDLink {
            happens(.opened)
            do {
                try passes(.open)
                let link = HIDLink(self)
                try state.withLock { state in
                    guard state.isPlugged else { throw HIDLink.Unplugged() }
                    state.links.append(WeakLink(link: link))
                }
                return link
            } catch {
                happens(.closed)
                throw error
            }
        }

        /// Waits until nobody uses it.
        func isQuiet() async { await reaches(.closed, times: count(of: .opened)) }

        func passes(_ step: Step) throws {
            let (number, body) = state.withLock { state in
                defer { state.steps += 1 }
                return (state.steps, state.before)
            }
            try body(number, step)
        }

        func sent(_ report: [UInt8]) -> [UInt8] { state.withLock { $0.report }(report) }
        func answered(_ answer: [UInt8]) -> [UInt8] { state.withLock { $0.answer }(answer) }

        func happens(_ event: Event) {
            let ready = state.withLock { state in
                state.events.append(event)
                let count = state.events.count { $0 == event }
                let ready = state.waiting.filter { $0.event == event && $0.count <= count }
                state.waiting.removeAll { $0.event == event && $0.count <= count }
                return ready.map(\.continuation)
            }
            for continuation in ready { continuation.resume() }
        }

        func count(of event: Event) -> Int { state.withLock { $0.events.count { $0 == event } } }

        /// Waits until something has happened this many times.
        func reaches(_ event: Event, times count: Int = 1) async {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.events.count(where: { $0 == event }) >= count { return true }
                    state.waiting.append((event, count, continuation))
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
    }

    /// The key that is plugged in.
    struct SoftwarePorts: FIDO2Devices {
        let ports: [SoftwarePort]

        func list() -> [FIDO2Device] { ports.filter(\.isPlugged).map(\.device) }

        func open(_ device: FIDO2Device) throws -> any FIDO2Connection {
            guard let port = ports.first(where: { $0.isPlugged && $0.device == device }) else {
                throw HIDLink.Unplugged()
            }
            return try port.open()
        }
    }
#endif
