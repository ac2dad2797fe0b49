#if Logind
    public import FoundationEssentials

    /// Why logind cannot be listened to.
    public struct LogindError: LocalizedError, Sendable, CustomStringConvertible {
        /// What happened. New codes may be added, so a `switch` over them needs a `default`.
        public struct Code: Hashable, Sendable {
            let name: String
            /// There is no message bus: the machine runs without D-Bus, or its address is another. Use another monitor.
            public static let busUnavailable = Code(name: "busUnavailable")
            /// The bus is there and logind is not: the machine runs without systemd. Use another monitor.
            public static let logindUnavailable = Code(name: "logindUnavailable")
            /// There is no such session, or the process belongs to none, as a system service does: only sleep is noticed.
            public static let noSuchSession = Code(name: "noSuchSession")
        }

        /// The code that tells what happened, and so what to do next.
        public let code: Code
        public let description: String

        init(_ code: Code, _ cause: BusError? = nil) {
            self.code = code
            let text =
                switch code {
                case .busUnavailable: "The message bus cannot be reached"
                case .logindUnavailable: "systemd-logind does not answer on the message bus"
                default: "systemd-logind knows no such session"
                }
            description = text + (cause.map { " (\($0.name ?? "error \($0.number)"))." } ?? ".")
        }

        /// For `localizedDescription`: the same as ``description``.
        public var errorDescription: String? { description }
    }
#endif
