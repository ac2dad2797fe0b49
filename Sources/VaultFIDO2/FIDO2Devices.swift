#if FIDO2
    /// Security keys that libfido2 does not find itself: forwarded from another machine, or software for tests.
    ///
    /// A conformer must not assume that a listed key is still there when it is opened, or that calls come from one
    /// thread. Calls come on threads that may block, never on the cooperative pool.
    public protocol FIDO2Devices: Sendable {
        /// Returns the keys that are plugged in now.
        func list() throws -> [FIDO2Device]

        /// Opens a key for one conversation.
        ///
        /// - Throws: any error, if the key is gone or in use.
        func open(_ device: FIDO2Device) throws -> any FIDO2Connection
    }

    /// A security key that is plugged in.
    public struct FIDO2Device: Sendable, Hashable {
        /// The identifier of the key within its list. For libfido2's own keys, the device file.
        public let path: String
        /// The maker's name for the key, shown to the person.
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

    /// A conversation with a security key in reports of 64 bytes (CTAP 2.1 section 11.2, "USB HID"). The PIN and all
    /// secrets in it are encrypted to the key.
    ///
    /// A conformer must allow a write during a waiting read: such a write tells a key to stop waiting for its touch.
    public protocol FIDO2Connection: Sendable {
        /// Waits for the next report from the key.
        ///
        /// - Parameter limit: the longest wait; nil for no limit.
        /// - Returns: nil if nothing came in that time.
        /// - Throws: any error, if the key is gone.
        func read(within limit: Duration?) throws -> [UInt8]?

        /// Sends a report to the key.
        ///
        /// - Throws: any error, if the key is gone.
        func write(_ report: [UInt8]) throws

        /// Ends the conversation. It is the last call, and comes once.
        func close()
    }
#endif
