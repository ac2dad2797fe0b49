import Testing

@testable import KeyServiceServer

@Suite struct QuotaTests {
    private let first = NetworkAddress("192.0.2.1")
    private let second = NetworkAddress("192.0.2.2")

    /// Returns the seconds to wait, or nil if the key was granted.
    private func wait(_ quota: CreateQuota, _ address: NetworkAddress?, at time: Double) -> Int? {
        do {
            try quota.take(address, at: time)
            return nil
        } catch {
            return error.retryAfter
        }
    }

    @Test func `when the announced wait is over, then creation is allowed`() {
        let quota = CreateQuota(perHour: 4, totalPerHour: 0)
        for _ in 1...4 { #expect(wait(quota, first, at: 1000) == nil) }
        #expect(wait(quota, first, at: 1000) == 900)
        #expect(wait(quota, first, at: 1899.5) == 1)
        #expect(wait(quota, first, at: 1900) == nil)
        #expect(wait(quota, first, at: 1900) == 900)
        #expect(wait(quota, second, at: 1000) == nil)
        // After an hour without a request, the bucket is full again.
        for _ in 1...4 { #expect(wait(quota, first, at: 9000) == nil) }
        #expect(wait(quota, first, at: 9000) != nil)
    }

    @Test func `when the total is used up, then every address waits`() {
        let quota = CreateQuota(perHour: 2, totalPerHour: 3)
        #expect([first, first, first].map { wait(quota, $0, at: 0) == nil } == [true, true, false])
        #expect(wait(quota, second, at: 0) == nil)
        for _ in 1...10 { #expect(wait(quota, second, at: 0) == 1200) }
        #expect(wait(quota, second, at: 1200) == nil)
    }

    @Test func `when a limit is zero, then creation is unlimited`() {
        let quota = CreateQuota(perHour: 0, totalPerHour: 0)
        for _ in 1...100_000 { #expect(wait(quota, first, at: 0) == nil) }
        #expect(quota.count == 0)
    }

    @Test func `when addresses are many, then the buckets stay bounded`() {
        let quota = CreateQuota(perHour: 1, totalPerHour: 0)
        var refusals = 0
        for number in 0..<20_000 {
            let address = NetworkAddress("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)")
            if wait(quota, address, at: Double(number) / 20_000) != nil { refusals += 1 }
        }
        #expect(quota.count == 16 * 1024)
        #expect(refusals == 20_000 - 16 * 1024 - 1)
        // The buckets that are full again make room.
        #expect(wait(quota, first, at: 4000) == nil)
        #expect(quota.count == 1)
    }
}

@Suite struct RefusalQuotaTests {
    private let first = NetworkAddress("192.0.2.1")
    private let second = NetworkAddress("192.0.2.2")

    /// Returns the seconds to wait, or nil if the address has no limit now.
    private func wait(_ quota: RefusalQuota, _ address: NetworkAddress?, at time: Double) -> Int? {
        do {
            try quota.check(address, at: time)
            return nil
        } catch {
            return error.retryAfter
        }
    }

    @Test func `when an address is refused often, then it waits`() {
        let quota = RefusalQuota(perMinute: 2)
        for _ in 1...20 {
            #expect(wait(quota, first, at: 1000) == nil)
            quota.count(first, at: 1000)
        }
        #expect(wait(quota, first, at: 1000) == 30)
        #expect(wait(quota, second, at: 1000) == nil)
        #expect(wait(quota, first, at: 1029.5) == 1)
        // Only a refused request takes something.
        for _ in 1...100 { #expect(wait(quota, first, at: 1030) == nil) }
        quota.count(first, at: 1030)
        #expect(wait(quota, first, at: 1030) == 30)
    }

    @Test func `when a network has many addresses, then they count as one`() {
        let quota = RefusalQuota(perMinute: 1)
        for number in 1...10 { quota.count(NetworkAddress("2001:db8::\(number)"), at: 0) }
        #expect(wait(quota, NetworkAddress("2001:db8::ffff"), at: 0) == 60)
        #expect(wait(quota, NetworkAddress("2001:db8:0:1::1"), at: 0) == nil)
    }

    @Test func `when refused addresses are many, then others have no limit`() {
        let quota = RefusalQuota(perMinute: 1)
        for number in 0..<16 * 1024 {
            let address = NetworkAddress("10.0.\(number >> 8).\(number & 255)")
            for _ in 1...10 { quota.count(address, at: 0) }
        }
        for _ in 1...20 { quota.count(first, at: 0) }
        #expect(wait(quota, first, at: 0) == nil)
        #expect(wait(quota, NetworkAddress("10.0.0.7"), at: 0) == 60)
    }

    @Test func `when an address is limited, then each minute has one report`() {
        let quota = RefusalQuota(perMinute: 1)
        // Requests at the same time may take more than the bucket holds.
        for _ in 1...30 { quota.count(first, at: 0) }
        let times: [Double] = [0, 1, 59, 60, 61]
        let reports = times.map { time -> Int? in
            do throws(RefusalQuota.Exceeded) {
                try quota.check(first, at: time)
                return 0
            } catch {
                return error.unreported
            }
        }
        #expect(reports == [1, nil, nil, 3, nil])
    }

    @Test func `when the limit is zero, then refusals are unlimited`() {
        let quota = RefusalQuota(perMinute: 0)
        for _ in 1...10_000 { quota.count(first, at: 0) }
        #expect(wait(quota, first, at: 0) == nil)
    }
}

@Suite struct NetworkAddressTests {
    @Test func `when an address is inside a range, then it matches`() throws {
        let cases: [(range: String, inside: [String], outside: [String])] = [
            ("192.0.2.1", ["192.0.2.1", "::ffff:192.0.2.1"], ["192.0.2.2", "::1"]),
            ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["11.0.0.0", "9.255.255.255", "2001:db8::1"]),
            ("0.0.0.0/0", ["192.0.2.1"], ["2001:db8::1"]), ("::1", ["::1"], ["::2"]),
            ("2001:db8::/33", ["2001:db8:7fff::1"], ["2001:db8:8000::1", "10.0.0.1"]),
            ("2001:db8::/64", ["2001:db8::ffff:1"], ["2001:db8:0:1::"]),
        ]
        for (text, inside, outside) in cases {
            let range = try #require(NetworkAddress.Range(text))
            for address in inside {
                #expect(range.contains(try #require(NetworkAddress(address))), "\(text) \(address)")
            }
            for address in outside {
                #expect(!range.contains(try #require(NetworkAddress(address))), "\(text) \(address)")
            }
        }
        for text in ["", "x", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "::1/129", "10.0.0.0/8/8", "host.example"] {
            #expect(NetworkAddress.Range(text) == nil, "\(text)")
        }
    }

    @Test func `when proxies forward, then the last untrusted address counts`() throws {
        let proxies = TrustedProxies(["10.0.0.0/8", "::1"].compactMap(NetworkAddress.Range.init))
        let cases: [(peer: String, forwarded: [String], client: String)] = [
            ("192.0.2.9", ["192.0.2.1"], "192.0.2.9"),  // not a proxy
            ("10.0.0.1", [], "10.0.0.1"), ("10.0.0.1", ["192.0.2.1"], "192.0.2.1"),
            ("::1", ["192.0.2.7, 192.0.2.1", "10.0.0.2"], "192.0.2.1"),
            ("10.0.0.1", ["10.0.0.3,10.0.0.2"], "10.0.0.3"), ("10.0.0.1", ["192.0.2.1, nonsense"], "10.0.0.1"),
            ("10.0.0.1", ["192.0.2.1:80"], "192.0.2.1"), ("10.0.0.1", ["[2001:db8::1]:80"], "2001:db8::1"),
            ("10.0.0.1", ["2001:db8::1"], "2001:db8::1"),
        ]
        for (peer, forwarded, client) in cases {
            let found = proxies.client(peer: NetworkAddress(peer), forwarded: forwarded)
            #expect(found == NetworkAddress(client), "\(peer) \(forwarded)")
        }
        #expect(proxies.client(peer: nil, forwarded: ["192.0.2.1"]) == nil)
    }
}
