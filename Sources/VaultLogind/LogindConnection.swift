internal import Foundation
internal import VaultBackground
internal import VaultDBus

/// An event from logind about a session or the machine.
enum LogindEvent {
    case locked(session: String)
    /// The person is back, whichever session was unlocked.
    case unlocked
    case asleep(Bool)
    /// A session began or ended.
    case sessionsChanged
}

/// A connection to logind that follows one session, or all of a user, for one thread.
final class LogindConnection {
    private let bus: Bus
    /// Whether all sessions of the process's user are followed. The process may outlive the session that it began in.
    private let isForUser: Bool
    /// The paths of the followed sessions. Without any, only sleep is noticed.
    private(set) var sessions: Set<String>
    /// The name of logind's own connection on the bus.
    private let owner: String

    private static let manager = BusTarget(
        service: "org.freedesktop.login1", path: "/org/freedesktop/login1",
        interface: "org.freedesktop.login1.Manager")
    private static let driver = BusTarget(
        service: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus")
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let session = "org.freedesktop.login1.Session"

    /// - Parameters:
    ///   - id: the id of the session; nil for the process's own, and all others of its user.
    ///   - busAddress: a D-Bus address; nil for the system bus.
    ///   - end: a signal that ends all waiting for events.
    ///   - timeout: the time limit for the connection, and then for each answer.
    init(
        session id: String?, busAddress: String?, end: EventDescriptor, timeout: Duration
    ) throws(LogindError) {
        let library: LibSystemd
        do { library = try LibSystemd() } catch { throw LogindError(.libraryMissing) }
        do {
            bus = try Bus(
                library, to: busAddress.map { BusPlace.address($0) } ?? .system, end: end, timeout: timeout)
        } catch {
            throw LogindError(.busUnavailable, error)
        }
        do {
            // Each subscription comes before its question, so no change is lost.
            try bus.subscribe(to: Self.driver, "NameOwnerChanged", "arg0='\(Self.manager.service)'")
            isForUser = id == nil
            for signal in ["PrepareForSleep", "SessionNew", "SessionRemoved"] {
                try bus.subscribe(to: Self.manager, signal)
            }
            let all = Self.manager.path + "/session"
            for signal in ["Lock", "Unlock"] {
                try bus.subscribe(to: Self.target(all, Self.session), signal, by: "path_namespace")
            }
            try bus.subscribe(to: Self.target(all, Self.properties), "PropertiesChanged", by: "path_namespace")
            sessions =
                if let id {
                    [try bus.call(Self.manager, "GetSession", .string(id)).readPath()]
                } else {
                    try Self.sessionsOfUser(bus)
                }
            owner = try bus.call(Self.driver, "GetNameOwner", .string(Self.manager.service)).readString()
        } catch {
            throw LogindError(error.isLogindsAnswer ? .noSuchSession : .logindUnavailable, error)
        }
    }

    private static func target(_ path: String, _ interface: String) -> BusTarget {
        BusTarget(service: manager.service, path: path, interface: interface)
    }

    /// Finds all sessions of the process's user. The process itself may also belong to another user's session.
    private static func sessionsOfUser(_ bus: Bus) throws(BusError) -> Set<String> {
        var paths = try bus.call(manager, "ListSessions").readSessions(of: geteuid())
        // systemd 243 and later know "auto". Process 0 means the caller.
        var ways: [(method: String, argument: BusValue)] = [
            ("GetSession", .string("auto")), ("GetSessionByPID", .number(0)),
        ]
        if let id = ProcessInfo.processInfo.environment["XDG_SESSION_ID"] {
            ways.append(("GetSession", .string(id)))
        }
        for way in ways {
            do {
                paths.insert(try bus.call(manager, way.method, way.argument).readPath())
                break
            } catch {
                guard error.isLogindsAnswer else { throw error }
            }
        }
        return paths
    }

    /// The sessions whose desktop reports a locked screen. A desktop that never reports one counts as not locked.
    func lockedSessions() throws(BusError) -> Set<String> {
        var locked: Set<String> = []
        for path in sessions {
            do {
                if try bus.flag(Self.target(path, Self.session), "LockedHint") { locked.insert(path) }
            } catch {
                guard error.isLogindsAnswer else { throw error }
            }
        }
        return locked
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
            for signal in ["SessionNew", "SessionRemoved"]
            where isForUser && message.isSignal(signal, of: Self.manager.interface, from: owner) {
                sessions = try Self.sessionsOfUser(bus)
                return .sessionsChanged
            }
            guard let path = message.path, sessions.contains(path) else { continue }
            if message.isSignal("Lock", of: Self.session, from: owner) { return .locked(session: path) }
            if message.isSignal("Unlock", of: Self.session, from: owner) { return .unlocked }
            if message.isSignal("PropertiesChanged", of: Self.properties, from: owner),
                try message.readString() == Self.session,
                let isLocked = try message.readFlag(ofProperty: "LockedHint")
            {
                return isLocked ? .locked(session: path) : .unlocked
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
