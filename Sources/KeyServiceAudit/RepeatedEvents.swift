/// The events of the last minute that anybody can cause without end, such as guesses on a locked key.
///
/// Without a limit, a stranger could fill the disk with lines. So only the first such event of a key has a line at
/// once. Further events are counted, and one line at the end of the minute has their number. So a key has at most two
/// such lines a minute, and the log still tells how many events there were.
struct RepeatedEvents {
    private struct Subject: Hashable {
        let kind: AuditEvent.Kind
        /// Nil for all keys that have no count of their own.
        let keytag: String?
    }

    /// The most keys with a count of their own. Further keys share one line a minute, which has no tag.
    static let maxSubjects = 1000

    /// The number of events without a line.
    private var counts: [Subject: Int] = [:]

    /// Whether nothing is counted now.
    var isEmpty: Bool { counts.isEmpty }

    /// Returns the lines for an event, in their order. The counts of the event's key come first, and the event itself
    /// comes last. If the event is only counted, there is no line. An event without a key writes the counts of all keys
    /// first.
    mutating func lines(for event: AuditEvent) -> [AuditEvent] {
        guard AuditEvent.Kind.repeated.contains(event.kind) else { return end(of: event.keytag) + [event] }
        let subject = Subject(kind: event.kind, keytag: event.keytag)
        if let count = counts[subject] {
            counts[subject] = count + 1
            return []
        }
        guard counts.count < Self.maxSubjects else {
            counts[Subject(kind: event.kind, keytag: nil), default: 0] += 1
            return []
        }
        counts[subject] = 0
        return [event]
    }

    /// Returns the lines with the counts of the minute. A key without a count is forgotten, so its next event has a
    /// line at once.
    mutating func endMinute() -> [AuditEvent] {
        let repeated = counts.filter { $0.value > 0 }
        counts = repeated.mapValues { _ in 0 }
        return repeated.map { Self.line($0.key, $0.value) }
    }

    private mutating func end(of keytag: String?) -> [AuditEvent] {
        guard let keytag else {
            defer { counts.removeAll() }
            return endMinute()
        }
        return AuditEvent.Kind.repeated.compactMap { kind -> AuditEvent? in
            let subject = Subject(kind: kind, keytag: keytag)
            guard let count = counts.removeValue(forKey: subject), count > 0 else { return nil }
            return Self.line(subject, count)
        }
    }

    private static func line(_ subject: Subject, _ count: Int) -> AuditEvent {
        AuditEvent(subject.kind, keytag: subject.keytag, count: count)
    }
}
