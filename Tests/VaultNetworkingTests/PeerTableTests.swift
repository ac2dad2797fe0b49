import NIOCore
import NIOPosix
import Testing
import VaultBase
import VaultHTTP

@testable import VaultNetworking

@Suite("Peers")
struct PeerTableTests {
    typealias End = PeerTable.End

    /// In the form of a little-endian machine. Swift runs only on such machines.
    private static let header =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    private static let browser = End(address: [127, 0, 0, 1], port: 0xE2A0)
    private static let listener = End(address: [127, 0, 0, 1], port: 0x8FD1)

    private static func line(
        _ ends: String = "0100007F:E2A0 0100007F:8FD1", state: String = "01", user: String = "1000",
        inode: String = "4711", number: String = "   3"
    ) -> String {
        "\(number): \(ends) \(state) 00000000:00000000 00:00000000 00000000 \(user)        0 \(inode) 1 000000002d50a612 20 4 30 10 -1\n"
    }

    private func rows(_ text: String) -> [PeerTable.Row] {
        PeerTable([Array(text.utf8)]).rows(from: Self.browser, to: Self.listener)
    }

    @Test func `when several sockets exist, then both ends identify the peer`() {
        let table =
            Self.header + Self.line("00000000:8FD1 00000000:0000", state: "0A", user: "0")
            + Self.line("0100007F:8FD1 0100007F:E2A0", user: "1")  // our own end
            + Self.line("0100007F:E2A0 0100007F:8FD2", user: "2") + Self.line("0100007F:E2A1 0100007F:8FD1", user: "3")
            + Self.line("0200007F:E2A0 0100007F:8FD1", user: "4") + Self.line()
        #expect(rows(table) == [.init(state: 1, user: 1000, inode: 4711)])
        #expect(rows(Self.line(number: "123456")) == [.init(state: 1, user: 1000, inode: 4711)])
        #expect(rows(String(Self.line().dropLast())).count == 1)
    }

    @Test func `when the connection uses IPv6, then the peer is found`() {
        let table = PeerTable([
            Array(
                (Self.line(
                    "00000000000000000000000001000000:E2A0 00000000000000000000000001000000:8FD1", user: "7")
                    + Self.line(
                        "0000000000000000FFFF00000100007F:E2A0 0000000000000000FFFF00000100007F:8FD1", user: "8")).utf8)
        ])
        let loopback = [UInt8](repeating: 0, count: 15) + [1]
        #expect(
            table.rows(
                from: End(address: loopback, port: 0xE2A0), to: End(address: loopback, port: 0x8FD1)
            ).map(\.user) == [7])
        #expect(table.rows(from: Self.browser.mapped, to: Self.listener.mapped).map(\.user) == [8])
        #expect(table.rows(from: Self.browser, to: Self.listener).isEmpty)
    }

    @Test(
        arguments: [
            "", "\n\n", ":", "   3:", "x: 0100007F:E2A0 0100007F:8FD1 01", String(Self.line().prefix(60)),
            Self.line(state: "1"), Self.line(state: "0x"), Self.line(user: "-1"), Self.line(user: "4294967296"),
            Self.line(user: "+5"), Self.line(user: "1e3"), Self.line(inode: "99999999999999999999"),
            Self.line(inode: "é"), Self.line("0100007f:e2a0 0100007f:8fd1"), Self.line("0100007F:E2A0  0100007F:8FD1"),
            " 0100007F:E2A0 0100007F:8FD1 01 00000000:00000000 00:00000000 00000000 1000 0 4711\n",
        ])
    func `when a line is malformed, then it is skipped`(text: String) {
        #expect(rows(text).isEmpty)
        #expect(rows(text + "\n" + Self.line()).count == 1)
    }

    @Test func `when an end has no address, then no row matches`() {
        for address in [[], [127], [UInt8](repeating: 0, count: 7)] {
            #expect(
                PeerTable([Array(Self.line().utf8)]).rows(
                    from: End(address: address, port: 1), to: End(address: address, port: 2)
                ).isEmpty)
        }
    }

    // MARK: - Conclusions from the tables

    private func peer(_ tables: [String], user: UInt32 = 1000, knowsAllUsers: Bool = true) async -> Peer {
        let lookup = PeerLookup(user: user, knowsAllUsers: knowsAllUsers) { tables.map { Array($0.utf8) } }
        return await withCheckedContinuation { continuation in
            lookup.find(.init(remote: Self.browser, local: Self.listener)) { continuation.resume(returning: $0) }
        }
    }

    @Test func `when one row matches, then its user decides`() async {
        #expect(await peer([Self.line()]) == .own)
        #expect(await peer([Self.line(user: "1001")]) == .other(user: 1001))
        #expect(await peer([Self.line(user: "0")]) == .other(user: 0))
        #expect(await peer([Self.line(user: "0")], user: 0) == .own)
        let mapped = Self.line("0000000000000000FFFF00000100007F:E2A0 0000000000000000FFFF00000100007F:8FD1")
        #expect(await peer([Self.header, mapped]) == .own)
    }

    @Test func `when no clear row matches, then the peer is unknown`() async {
        #expect(await peer([]) == .unknown)
        #expect(await peer([Self.header]) == .unknown)
        // The process closed it, so the kernel writes user 0.
        #expect(await peer([Self.line(state: "05", user: "0", inode: "0")], user: 0) == .unknown)
        #expect(await peer([Self.line(), Self.line(user: "1001")]) == .unknown)
    }

    @Test func `when the user is unmapped, then the peer is unknown`() async {
        #expect(await peer([Self.line(user: "65534")], knowsAllUsers: false) == .unknown)
        #expect(await peer([Self.line(user: "65534")], user: 65_534, knowsAllUsers: false) == .unknown)
        #expect(await peer([Self.line(user: "65534")], user: 65_534) == .own)
        #expect(await peer([Self.line(user: "65534")]) == .other(user: 65_534))
    }

    @Test func `when many callers wait, then they share readings`() async {
        let readings = Lock(0)
        let lookup = PeerLookup(user: 1000, knowsAllUsers: true) {
            let number = readings.withLock { readings in
                readings += 1
                return readings
            }
            return number < 3 ? [] : [Array(Self.line().utf8)]
        }
        let peers = await withTaskGroup(of: Peer.self) { group in
            for _ in 0..<500 {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        lookup.find(.init(remote: Self.browser, local: Self.listener)) {
                            continuation.resume(returning: $0)
                        }
                    }
                }
            }
            return await group.reduce(into: Set<Peer>()) { $0.insert($1) }
        }
        #expect(peers == [.own])
        #expect(readings.withLock { $0 } < 500)
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func `when this process connects, then its request is accepted`(address: String) async throws {
        let listener = try await LoopbackListener.start(path: "/callback", isForLocalhost: true)
        async let answer = RawClient.get("/callback?code=a", port: listener.port, address: address)
        let callback = try await listener.redirect(timeout: .seconds(60))
        await callback.respond("done")
        #expect(try await answer.hasSuffix("done"))
        await listener.stop()
    }

    // MARK: - The listener

    private func listener(user: UInt32, knowsAllUsers: Bool = true) async throws -> LoopbackListener {
        try await LoopbackListener.start(
            path: "/callback", peers: PeerLookup(user: user, knowsAllUsers: knowsAllUsers))
    }

    @Test func `when another user connects, then the request is refused`() async throws {
        let listener = try await listener(user: 4_000_000_000)
        let answer = try? await RawClient.get("/callback?code=stolen", port: listener.port)
        #expect(answer?.isEmpty != false)
        var refused = listener.refused.makeAsyncIterator()
        #expect(await refused.next()?.user != nil)
        await listener.stop()
    }

    @Test func `when the user is unclear, then a page explains alternatives`() async throws {
        let listener = try await LoopbackListener.start(
            path: "/callback", peers: PeerLookup(user: 0, knowsAllUsers: true) { [] })
        let answer = try await RawClient.get("/callback?code=a", port: listener.port)
        #expect(answer.hasPrefix("HTTP/1.1 403 "))
        #expect(answer.contains("with a device code") && answer.contains("copy the address"))
        var refused = listener.refused.makeAsyncIterator()
        #expect(await refused.next() == RefusedConnection(user: nil))
        await listener.stop()
    }
}
