internal import ArgumentParser

/// `HOST:PORT`, where the host is this machine and nothing else.
struct LoopbackAddress: ExpressibleByArgument, Codable, Sendable, CustomStringConvertible {
    /// Without brackets.
    var host = "127.0.0.1"
    /// 0 picks a free one.
    var port = 0

    init() {}

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":") else { return nil }
        let port = argument[colon...].dropFirst()
        guard port.allSatisfy({ $0.isASCII && $0.isNumber }), let number = UInt16(port) else { return nil }
        switch argument[..<colon] {
        case "127.0.0.1", "localhost": host = String(argument[..<colon])
        case "[::1]": host = "::1"
        default: return nil
        }
        self.port = Int(number)
    }

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// Where both servers listen.
struct Addresses: Codable, Sendable {
    var provider = LoopbackAddress()
    var keyService = LoopbackAddress()
}
