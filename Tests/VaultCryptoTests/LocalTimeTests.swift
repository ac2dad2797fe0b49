import Foundation
import Testing
import VaultBase

/// Times for people. Tests/EndToEnd has the time zones, because a test cannot change the environment of its process.
@Suite struct LocalTimeTests {
    @Test(arguments: [0, 1_795_000_000.9, -1, 64_092_211_200] as [Double])
    func `when a time is shown, then its zone is named`(seconds: Double) throws {
        let text = Date(timeIntervalSince1970: seconds).localText
        #expect(try #/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+/#.wholeMatch(in: text) != nil)
    }

    @Test(arguments: [.infinity, -.infinity, .nan, 1e300] as [Double])
    func `when a server names an impossible time, then no trap occurs`(seconds: Double) {
        #expect(Date(timeIntervalSince1970: seconds).localText == "an unknown time")
    }
}
