import VaultNetworking

extension FuzzTarget {
    /// The kernel's table of sockets, for a connection over IPv4 and the same over IPv6.
    static func peerTable(_ bytes: [UInt8]) {
        let browser = PeerTable.End(address: [127, 0, 0, 1], port: 0xE2A0)
        let listener = PeerTable.End(address: [127, 0, 0, 1], port: 0x8FD1)
        let table = PeerTable([bytes])
        _ = table.rows(from: browser, to: listener)
        _ = table.rows(from: browser.mapped, to: listener.mapped)
    }
}
