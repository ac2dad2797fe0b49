#if Logind
    internal import Foundation
    internal import VaultBackground

    /// An event from logind about a session or the machine.
    enum LogindEvent {
        case locked(Bool)
        case asleep(Bool)
    }

    /// A connection to logind that follows one session, for one thread.
    final class LogindConnection {
        private let bus: Bus
        /// The session; nil if the process belongs to none. Then only sleep is noticed.
        private let session: BusTarget?
        /// The name of logind's own connection on the bus.
        private let owner: String

        private static let manager = BusTarget(
            service: "org.freedesktop.login1", path: "/org/freedesktop/login1",
            interface: "org.freedesktop.login1.Manager")
        private static let driver = BusTarget(
            service: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus")
        private static let properties = "org.freedesktop.DBus.Properties"

        /// - Parameters:
        ///   - id: the id of the session; nil for the process's own.
        ///   - busAddress: a D-Bus address; nil for the system bus.
        ///   - end: a signal that ends all waiting.
        init(session id: String?, busAddress: String?, end: EventDescriptor) throws(LogindError) {
            do {
                bus = try Bus(address: busAddress, end: end)
            } catch {
                throw LogindError(.busUnavailable, error)
            }
            do {
                // Each subscription comes before its question, so no change is lost.
                try bus.subscribe(to: Self.driver, "NameOwnerChanged", "arg0='\(Self.manager.service)'")
                let path = try Self.sessionPath(id, bus)
                owner = try bus.call(Self.driver, "GetNameOwner", .string(Self.manager.service)).readString()
                session = path.map {
                    BusTarget(service: Self.manager.service, path: $0, interface: "org.freedesktop.login1.Session")
                }
                try bus.subscribe(to: Self.manager, "PrepareForSleep")
                if let session {
                    try bus.subscribe(to: session, "Lock")
                    try bus.subscribe(to: session, "Unlock")
                    try bus.subscribe(
                        to: BusTarget(service: session.service, path: session.path, interface: Self.properties),
                        "PropertiesChanged")
                }
            } catch {
                throw LogindError(error.isLogindsAnswer ? .noSuchSession : .logindUnavailable, error)
            }
        }

        /// Finds the session of the process, or else its user's visible session.
        private static func sessionPath(_ id: String?, _ bus: Bus) throws(BusError) -> String? {
            if let id { return try bus.call(manager, "GetSession", .string(id)).readString(type: BusMessage.path) }
            // systemd 243 and later know "auto". Process 0 means the caller.
            var ways: [(method: String, argument: BusValue)] = [
                ("GetSession", .string("auto")), ("GetSessionByPID", .number(0)),
            ]
            if let id = ProcessInfo.processInfo.environment["XDG_SESSION_ID"] {
                ways.append(("GetSession", .string(id)))
            }
            for way in ways {
                do {
                    return try bus.call(manager, way.method, way.argument).readString(type: BusMessage.path)
                } catch {
                    guard error.isLogindsAnswer else { throw error }
                }
            }
            return nil
        }

        /// Whether the process belongs to a session.
        var hasSession: Bool { session != nil }

        /// Whether the desktop reports a locked screen. A desktop that never reports one counts as not locked.
        func isLocked() throws(BusError) -> Bool {
            guard let session else { return false }
            do {
                return try bus.flag(session, "LockedHint")
            } catch {
                guard error.isLogindsAnswer else { throw error }
                return false
            }
        }

        /// Whether the machine is about to sleep.
        func isAsleep() throws(BusError) -> Bool { try bus.flag(Self.manager, "PreparingForSleep") }

        /// Asks logind to delay sleep. Returns nil if logind refuses.
        func delaySleep() throws(BusError) -> SleepDelay? {
            do {
                let answer = try bus.call(
                    Self.manager, "Inhibit", .string("sleep"), .string(ProcessInfo.processInfo.processName),
                    .string("Notes when the sleep begins"), .string("delay"))
                return SleepDelay(try answer.readDescriptor())
            } catch {
                guard error.name != nil else { throw error }
                return nil
            }
        }

        /// Waits for the next event. Returns nil if `end` was signalled.
        ///
        /// - Throws: also if logind ended or was restarted: connect again.
        func next() throws(BusError) -> LogindEvent? {
            while let message = try bus.next() {
                if message.isSignal("NameOwnerChanged", of: Self.driver.interface, from: Self.driver.service) {
                    throw BusError(number: ENOTCONN)
                }
                if message.isSignal("PrepareForSleep", of: Self.manager.interface, from: owner) {
                    return .asleep(try message.readFlag())
                }
                guard let session, message.path == session.path else { continue }
                if message.isSignal("Lock", of: session.interface, from: owner) { return .locked(true) }
                if message.isSignal("Unlock", of: session.interface, from: owner) { return .locked(false) }
                if message.isSignal("PropertiesChanged", of: Self.properties, from: owner),
                    try message.readString() == session.interface,
                    let isLocked = try message.readFlag(ofProperty: "LockedHint")
                {
                    return .locked(isLocked)
                }
            }
            return nil
        }
    }

    extension BusError {
        /// Whether the refusal came from logind itself.
        fileprivate var isLogindsAnswer: Bool {
            guard let name else { return false }
            return name.hasPrefix("org.freedesktop.login1.")
                || ["UnknownMethod", "UnknownObject", "UnknownInterface", "UnknownProperty", "InvalidArgs"]
                    .contains { name == "org.freedesktop.DBus.Error." + $0 }
        }
    }
#endif
