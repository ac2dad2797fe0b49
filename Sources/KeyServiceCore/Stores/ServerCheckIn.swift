/// What a running server tells its store from time to time.
package struct ServerCheckIn: Sendable, Hashable {
    /// The time in seconds in which a crashed server still counts as running, if several servers share a store.
    package static let lifetime: Int64 = 60

    /// The random number of this run of the server.
    package var server: Int64
    /// The server's time, in seconds since 1970.
    package var time: Int64
    /// The master keys that the server has.
    package var masterKeys: [MasterKeyID]
    /// Whether the server's clock was set since its last check-in.
    package var isClockSet: Bool
    /// Whether the server ends now.
    package var isLast: Bool

    /// Makes a check-in.
    ///
    /// - Parameters:
    ///   - server: the random number of this run of the server.
    ///   - time: the server's time, in seconds since 1970.
    ///   - masterKeys: the master keys that the server has.
    ///   - isClockSet: whether the server's clock was set since its last check-in.
    ///   - isLast: whether the server ends now.
    package init(
        server: Int64, time: Int64, masterKeys: [MasterKeyID], isClockSet: Bool = false, isLast: Bool = false
    ) {
        self.server = server
        self.time = time
        self.masterKeys = masterKeys
        self.isClockSet = isClockSet
        self.isLast = isLast
    }
}

/// The form of a server's master keys in a store: 8 bytes for each name, the highest first.
package enum StoredMasterKeyIDs {
    private static let size = 8

    /// Writes the names.
    package static func bytes(_ ids: [MasterKeyID]) -> [UInt8] {
        ids.flatMap { id in withUnsafeBytes(of: id.rawValue.bigEndian) { Array($0) } }
    }

    /// Reads the names. Bytes of a wrong size give no whole name at their end, which is left out.
    package static func read(_ bytes: [UInt8]) -> [MasterKeyID] {
        (0..<bytes.count / size).map { index in
            MasterKeyID(rawValue: bytes[(size * index)...].prefix(size).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }
    }
}
