internal import Foundation
internal import KeyServiceCore
internal import VaultBase

/// An event for the audit log.
package struct AuditEvent: Sendable {
    /// The kind of event, as its line names it.
    package enum Kind: String, Sendable, CaseIterable {
        case logMade = "log-made"
        case serverStarted = "server-started"
        case serverStopped = "server-stopped"
        case keyMade = "key-made"
        case keyReleased = "key-released"
        /// A wrong secret, which was counted.
        case wrongGuess = "wrong-guess"
        /// The last wrong guess locked the key.
        case keyLocked = "key-locked"
        /// A guess on a locked key. It was not evaluated.
        case refusedLocked = "refused-locked"
        /// A wrong long secret. It is not counted.
        case wrongLongSecret = "wrong-long-secret"
        /// A request of an address over the limit of refused requests. The service did not check the request.
        case requestsLimited = "requests-limited"
        /// A guess of the protocol's version 2. The service does not know whether its secret is right.
        case guessOpened = "guess-opened"
        /// The owner's client confirmed guesses of the protocol's version 2.
        case guessesConfirmed = "guesses-confirmed"
        /// The owner's client ended the key.
        case keyEnded = "key-ended"
        /// The key was put on its owner's list of devices.
        case keyClaimed = "key-claimed"
        /// The service ended keys that nobody claimed in time.
        case unclaimedKeysEnded = "unclaimed-keys-ended"
        /// The owner revoked the key, with an access token.
        case ownerRevokes = "owner-revokes"
        /// The owner unlocked the key, with an access token of a fresh sign-in.
        case ownerUnlocks = "owner-unlocks"
        /// Events that are not in the log, because the log could not be written for a long time.
        case eventsLost = "events-lost"
        /// The log file was moved away, and this is the first line of a new one.
        case logReopened = "log-reopened"
        /// The service has a further audit log, whose lines are not in this log.
        case logAdded = "log-added"
        case operatorUnlocks = "operator-unlocks"
        case operatorRevokes = "operator-revokes"
        case operatorDeletes = "operator-deletes"
        case operatorBacksUp = "operator-backs-up"
        case operatorRestores = "operator-restores"
        case operatorAcceptsRollback = "operator-accepts-rollback"
        case operatorRotatesMasterKey = "operator-rotates-master-key"
        case operatorRotatesIdentity = "operator-rotates-identity"
        case operatorMovesKeys = "operator-moves-keys"
        /// The operator added this log to a service, perhaps because the log before it is lost.
        case operatorAddsLog = "operator-adds-log"
        /// The operator's last command did not succeed.
        case operatorFailed = "operator-failed"

        /// The events that anybody can cause without end. Repeats are only counted, because they tell nothing new: see
        /// ``RepeatedEvents``.
        static let repeated: [Kind] = [.refusedLocked, .wrongLongSecret, .requestsLimited]
    }

    let kind: Kind
    let keytag: String?
    let guessesLeft: Int?
    let count: Int?
    let user: UInt32?
    let sudoUser: UInt32?

    /// - Parameters:
    ///   - keytag: the tag of the key (see ``KeyTags``), never its id.
    ///   - guessesLeft: the guesses that are left after a wrong one.
    ///   - count: the number of lost events, of ended keys, of repeats that have no line of their own, or of the service's
    ///     audit logs.
    ///   - user: the user id of an operator's command.
    ///   - sudoUser: the user id of the person who typed the command with sudo.
    package init(
        _ kind: Kind, keytag: String? = nil, guessesLeft: Int? = nil, count: Int? = nil, user: UInt32? = nil,
        sudoUser: UInt32? = nil
    ) {
        self.kind = kind
        self.keytag = keytag
        self.guessesLeft = guessesLeft
        self.count = count
        self.user = user
        self.sudoUser = sudoUser
    }

    /// The number of events that have this line.
    var number: Int { Kind.repeated.contains(kind) ? count ?? 1 : 1 }

    /// Returns the events of an answered request; none if the request did not use a key.
    package static func events(madeKey: Bool, error: (any Error)?, keytag: @autoclosure () -> String?) -> [AuditEvent] {
        guard let error else { return [AuditEvent(madeKey ? .keyMade : .keyReleased, keytag: keytag())] }
        guard let error = error as? KeyServiceServerError else { return [] }
        switch (error.code, error.guessesRemaining) {
        case (.keyLocked, _): return [AuditEvent(.refusedLocked, keytag: keytag())]
        case (.wrongSecret, nil): return [AuditEvent(.wrongLongSecret, keytag: keytag())]
        case (.wrongSecret, let left?):
            let tag = keytag()
            let guess = AuditEvent(.wrongGuess, keytag: tag, guessesLeft: left)
            return left == 0 ? [guess, AuditEvent(.keyLocked, keytag: tag)] : [guess]
        default: return []
        }
    }
}

/// An event with the time at which it happened.
struct TimedAuditEvent: Sendable {
    let event: AuditEvent
    /// Milliseconds since 1970.
    let time: Int64
}

/// The form of a line: a JSON object whose last member is the MAC of everything before that member.
enum AuditLine {
    /// The bytes between the content of a line and its MAC.
    static let beforeMAC = Array(#","mac":""#.utf8)
    static let afterMAC = Array("\"}\n".utf8)
    /// The most bytes of a line. A longer one is not from this program.
    static let maxSize = 1024

    /// Returns the bytes of a line before its MAC. No value needs escaping: all have only plain characters.
    ///
    /// - after: the MAC of the line before, in the first line of a file.
    static func content(
        _ timed: TimedAuditEvent, sequence: UInt64, instance: String, after: [UInt8]?
    ) -> [UInt8] {
        let event = timed.event
        var text = #"{"seq":\#(sequence),"time":"\#(timeText(timed.time))","event":"\#(event.kind.rawValue)""#
        if let tag = event.keytag { text += #","keytag":"\#(plain(tag))""# }
        if let left = event.guessesLeft { text += #","guessesLeft":\#(left)"# }
        if let count = event.count { text += #","count":\#(count)"# }
        if let user = event.user { text += #","user":\#(user)"# }
        if let user = event.sudoUser { text += #","sudoUser":\#(user)"# }
        text += #","instance":"\#(plain(instance))""#
        if let after { text += #","after":"\#(String(decoding: Hexadecimal.encode(after), as: UTF8.self))""# }
        return Array(text.utf8)
    }

    static func complete(_ content: [UInt8], mac: [UInt8]) -> [UInt8] {
        content + beforeMAC + Hexadecimal.encode(mac) + afterMAC
    }

    /// Returns the sequence number at the start of a line.
    static func sequence(of line: some Collection<UInt8>) -> UInt64? {
        let start = Array(#"{"seq":"#.utf8)
        guard line.starts(with: start) else { return nil }
        let digits = line.dropFirst(start.count).prefix { (0x30...0x39).contains($0) }
        return UInt64(String(decoding: digits, as: UTF8.self))
    }

    /// Returns the content and the MAC of a line that ends in a line feed; nil if it has another form.
    static func split(_ line: ArraySlice<UInt8>) -> (content: ArraySlice<UInt8>, mac: [UInt8])? {
        let tail = beforeMAC.count + 2 * AuditKey.size + afterMAC.count
        guard line.count > tail, line.suffix(afterMAC.count).elementsEqual(afterMAC) else { return nil }
        let content = line.dropLast(tail)
        let rest = line[content.endIndex...]
        guard rest.starts(with: beforeMAC),
            let mac = Hexadecimal.decode(rest.dropFirst(beforeMAC.count).dropLast(afterMAC.count))
        else { return nil }
        return (content, mac)
    }

    private static func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(64).map {
                    $0.isASCII
                        && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "._-".unicodeScalars.contains($0))
                        ? $0 : "_"
                }))
    }

    private static func timeText(_ milliseconds: Int64) -> String {
        var second = time_t(milliseconds / 1000)
        var parts = tm()
        var buffer = [CChar](repeating: 0, count: 32)
        gmtime_r(&second, &parts)
        let size = strftime(&buffer, buffer.count, "%Y-%m-%dT%H:%M:%S", &parts)
        let fraction = String(milliseconds % 1000 + 1000).dropFirst()
        return String(decoding: buffer[..<size].map { UInt8(bitPattern: $0) }, as: UTF8.self) + ".\(fraction)Z"
    }
}
