internal import Foundation
internal import NIOCore

/// A numeric address of a client. An IPv4 address equals its IPv6 form (`::ffff:192.0.2.1`).
package struct NetworkAddress: Hashable, Sendable {
    private static let mappedPrefix: UInt64 = 0xFFFF_0000_0000

    let high: UInt64
    let low: UInt64

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Makes the address of a connection's other end; nil if it has none, as on a Unix socket.
    init?(_ address: SocketAddress?) {
        switch address {
        case .v4(let address):
            let bits = UInt32(bigEndian: address.address.sin_addr.s_addr)
            self.init(high: 0, low: Self.mappedPrefix | UInt64(bits))
        case .v6(let address):
            let parts = withUnsafeBytes(of: address.address.sin6_addr) {
                ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            self.init(high: UInt64(bigEndian: parts.0), low: UInt64(bigEndian: parts.1))
        default: return nil
        }
    }

    /// Reads `192.0.2.1` or `2001:db8::1`.
    package init?(_ text: some StringProtocol) {
        guard let address = try? SocketAddress(ipAddress: String(text), port: 0) else { return nil }
        self.init(address)
    }

    /// Reads one entry of `X-Forwarded-For`. Some proxies add the port: `192.0.2.1:80`, `[2001:db8::1]:80`.
    init?(forwarded entry: some StringProtocol) {
        let text = entry.trimmingCharacters(in: .whitespaces)
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            self.init(text[text.index(after: text.startIndex)..<end])
        } else if text.contains("."), let colon = text.lastIndex(of: ":"), text.firstIndex(of: ":") == colon {
            self.init(text[..<colon])
        } else {
            self.init(text)
        }
    }

    var isIPv4: Bool { high == 0 && low >> 32 == Self.mappedPrefix >> 32 }

    /// The address for counting. One IPv6 client has a whole /64, so a /64 counts as one address.
    var counted: NetworkAddress {
        isIPv4 ? self : NetworkAddress(high: high, low: 0)
    }

    /// Returns the address with all bits after the first `length` set to 0.
    fileprivate func prefix(_ length: Int) -> NetworkAddress {
        func mask(_ bits: Int) -> UInt64 { bits <= 0 ? 0 : bits >= 64 ? .max : ~(.max >> UInt64(bits)) }
        return NetworkAddress(high: high & mask(length), low: low & mask(length - 64))
    }

    /// A range of addresses: `192.0.2.1`, `10.0.0.0/8` or `2001:db8::/32`.
    package struct Range: Sendable {
        private let start: NetworkAddress
        private let length: Int

        /// Reads an address or a range; nil if the text is neither.
        package init?(_ text: String) {
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard let address = NetworkAddress(parts[0]) else { return nil }
            let added = address.isIPv4 && !parts[0].contains(":") ? 96 : 0
            var length = 128
            if parts.count == 2 {
                guard let given = Int(parts[1]), (0...(128 - added)).contains(given) else { return nil }
                length = given + added
            }
            start = address.prefix(length)
            self.length = length
        }

        func contains(_ address: NetworkAddress) -> Bool { address.prefix(length) == start }
    }
}

/// The reverse proxies whose `X-Forwarded-For` the service trusts.
struct TrustedProxies: Sendable {
    private let ranges: [NetworkAddress.Range]

    init(_ ranges: [NetworkAddress.Range]) { self.ranges = ranges }

    func contains(_ address: NetworkAddress?) -> Bool {
        guard let address else { return false }
        return ranges.contains { $0.contains(address) }
    }

    /// Returns the client's address: the last forwarded one that is no trusted proxy. A client can write the entries
    /// before it.
    ///
    /// - Parameters:
    ///   - peer: the other end of the connection.
    ///   - forwarded: the values of all `X-Forwarded-For` fields, in their order. Read only for a trusted proxy.
    func client(peer: NetworkAddress?, forwarded: @autoclosure () -> [String]) -> NetworkAddress? {
        guard let peer, contains(peer) else { return peer }
        var client = peer
        for entry in forwarded().joined(separator: ",").split(separator: ",").reversed() {
            guard let address = NetworkAddress(forwarded: entry) else { break }
            client = address
            guard contains(address) else { break }
        }
        return client
    }
}
