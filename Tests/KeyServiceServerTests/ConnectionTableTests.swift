import Testing
import VaultBase

@testable import KeyServiceServer

/// The connection that loses its place if there are too many.
@Suite struct ConnectionTableTests {
    /// A listener with four places, and at most three for one address.
    private final class Listener: Sendable {
        static let proxy = "192.0.2.99"

        let prometheus = PrometheusMetrics()
        let table: ConnectionTable
        private let closed = Lock<[String]>([])

        init() throws {
            table = ConnectionTable(
                limit: 4, perAddress: 3, trusted: TrustedProxies([try #require(NetworkAddress.Range(Self.proxy))]),
                metrics: KeyServiceMetrics(factory: prometheus))
        }

        /// The names of the connections that were closed, in this order.
        var closedNames: [String] { closed.withLock { $0 } }

        /// Opens a connection.
        ///
        /// - Returns: nil if there is no place for it.
        @discardableResult
        func open(
            _ name: String, from address: String, _ phase: ClientConnection.Phase = .idle
        ) throws -> ClientConnection? {
            let peer: NetworkAddress = try #require(NetworkAddress(address))
            let connection = table.admit(peer) {
                self.closed.withLock { $0.append(name) }
            }
            if phase != .idle { connection?.enter(phase) }
            return connection
        }

        func remove(_ connection: ClientConnection) { table.remove(connection) }
    }

    @Test func `when all places are taken, then the longest idle ends`() throws {
        let listener = try Listener()
        let first = try #require(try listener.open("first", from: "192.0.2.1"))
        for number in 2...4 { try listener.open("\(number)", from: "192.0.2.\(number)") }
        // The first one had a request meanwhile, so the second one has been idle longest.
        #expect(first.bytesArrived() && first.enter(.underWay) && first.enter(.idle))
        #expect(try listener.open("new", from: "192.0.2.5") != nil)
        #expect(listener.closedNames == ["2"])
    }

    @Test func `when two addresses have all places, then others get in`() throws {
        let listener = try Listener()
        try listener.open("owner", from: "192.0.2.1")
        for number in 1...3 { try listener.open("greedy \(number)", from: "192.0.2.2") }
        // The owner's connection has been idle longest, but its address has only this one.
        #expect(try listener.open("new", from: "192.0.2.3") != nil)
        #expect(listener.closedNames == ["greedy 1"])
    }

    @Test func `when a greedy address returns, then others keep their places`() throws {
        let listener = try Listener()
        try listener.open("owner", from: "192.0.2.1")
        for number in 1...2 { try listener.open("greedy \(number)", from: "192.0.2.2", .underWay) }
        try listener.open("other", from: "192.0.2.3", .underWay)
        #expect(try listener.open("greedy 3", from: "192.0.2.2") == nil)
        #expect(listener.closedNames.isEmpty)
        #expect(listener.prometheus.text().contains("vault_key_service_connections_refused_total 1\n"))
    }

    @Test func `when all requests are under way, then none is closed`() throws {
        let listener = try Listener()
        for number in 1...4 { try listener.open("\(number)", from: "192.0.2.\(number % 2)", .underWay) }
        #expect(try listener.open("new", from: "192.0.2.5") == nil)
        #expect(listener.closedNames.isEmpty)
    }

    @Test func `when requests only arrive, then another address gets in`() throws {
        let listener = try Listener()
        for number in 1...3 { try listener.open("slow \(number)", from: "192.0.2.1", .arriving) }
        try listener.open("other", from: "192.0.2.2", .arriving)
        #expect(try listener.open("new", from: "192.0.2.3", .arriving) != nil)
        #expect(listener.closedNames == ["slow 1"])
        // The new address then had as many as the slow one.
        #expect(try listener.open("next", from: "192.0.2.3") == nil)
    }

    @Test func `when all places are taken, then greedy addresses leave`() throws {
        let listener = try Listener()
        let greedy = try (1...3).map { try #require(try listener.open("\($0)", from: "192.0.2.1", .underWay)) }
        #expect(!listener.table.mustLeave(greedy[0]), "there is a free place")
        let other = try #require(try listener.open("other", from: "192.0.2.2", .underWay))
        #expect(listener.table.mustLeave(greedy[0]))
        #expect(!listener.table.mustLeave(other))
    }

    @Test func `when a proxy has all places, then it gets in`() throws {
        let listener = try Listener()
        for number in 1...4 { try listener.open("\(number)", from: Listener.proxy) }
        #expect(try listener.open("new", from: Listener.proxy) != nil)
        #expect(listener.closedNames == ["1"])
    }

    @Test func `when a connection ends, then its next request does not begin`() throws {
        let listener = try Listener()
        let first = try #require(try listener.open("first", from: "192.0.2.1"))
        for number in 2...5 { try listener.open("\(number)", from: "192.0.2.\(number)") }
        #expect(listener.closedNames == ["first"])
        #expect(!first.bytesArrived())
        #expect(!first.enter(.underWay))
    }

    @Test func `when connections come and go, then the counts are right`() throws {
        let listener = try Listener()
        for number in 1...10 { try listener.open("\(number)", from: "192.0.2.\(number)") }
        let last = try #require(try listener.open("last", from: "192.0.2.11"))
        listener.remove(last)
        #expect(try listener.open("new", from: "192.0.2.12") != nil)
        #expect(listener.closedNames == (1...7).map(String.init))
        let text = listener.prometheus.text()
        #expect(text.contains("vault_key_service_connections_evicted_total 7\n"))
        #expect(text.contains("vault_key_service_connections_limit 4\n"))
    }
}
