#if FIDO2
    /// Security keys that libfido2 does not find by itself: forwarded from another machine, or made of software for a test.
    ///
    /// A conformer must not assume that a key which was listed is still there when it is opened, nor that calls come from
    /// one thread. They come on threads that may be blocked, never on the cooperative pool.
    public protocol FIDO2Devices: Sendable {
        /// The keys that are plugged in now.
        func list() throws -> [FIDO2Device]

        /// Opens a key for one conversation.
        ///
        /// - Throws: when it is gone or in use; any error will do.
        func open(_ device: FIDO2Device) throws -> any FIDO2Connection
    }

    /// A security key that is plugged in.
    public struct FIDO2Device: Sendable, Hashable {
        /// Which one it is among those of the same list: for libfido2's own, the device file.
        public let path: String
        /// What the maker calls it. Shown to the person.
        public let name: String

        /// Makes a description of a security key, for a list of your own.
        ///
        /// - Parameters:
        ///   - path: text that tells this key from the others in the same list.
        ///   - name: the name that the maker gave the key, for the person.
        public init(path: String, name: String) {
            self.path = path
            self.name = name
        }
    }

    /// A conversation with a security key in reports of 64 bytes (CTAP 2.1 section 11.2, "USB HID"). It carries neither the
    /// PIN nor a secret that is not encrypted to the key.
    ///
    /// A conformer must not assume that nothing is written while a read waits: that is how a key is told to stop waiting
    /// for its touch.
    public protocol FIDO2Connection: Sendable {
        /// Waits for the next report from the key.
        ///
        /// - Parameter limit: how long to wait; nil to wait as long as it takes.
        /// - Returns: nil when nothing came in that time.
        /// - Throws: when the key is gone; any error will do.
        func read(within limit: Duration?) throws -> [UInt8]?

        /// Sends a report to the key.
        ///
        /// - Throws: when the key is gone; any error will do.
        func write(_ report: [UInt8]) throws

        /// Ends the conversation. Called once, and last.
        func close()
    }
#endif
