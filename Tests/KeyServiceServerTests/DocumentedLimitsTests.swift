import Foundation
import Testing

@testable import KeyServiceServer

/// The table of limits that operators read.
@Suite struct DocumentedLimitsTests {
    @Test func `when an operator reads the limits, then they are right`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let article = try String(
            contentsOf: folder.appending(path: "../../Sources/KeyServiceServer/KeyServiceServer.docc/KeyServiceTLS.md"),
            encoding: .utf8)
        let configuration = KeyServiceServerConfiguration()
        for (row, limit) in [
            ("new keys of one address", "\(configuration.createsPerHour) an hour"),
            ("connections of one address", "\(configuration.maxConnectionsPerAddress)"),
            ("connections in all", "\(configuration.maxConnections)"),
            ("a whole request", "\(configuration.requestDeadline / 1000) seconds"),
            ("the body of a request", "\(KeyServiceServerConfiguration.maxBodySize / 1024) KiB"),
            ("requests sent ahead", "\(RequestDeadline.maxUnanswered)"),
            ("requests under way", "\(configuration.maxRequestsUnderWay)"),
        ] {
            let lines = article.split(separator: "\n").filter { $0.hasPrefix("| \(row)") }
            let line = try #require(lines.first, "\(row)")
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            #expect(cells.count == 3 && cells[1] == limit, "\(row)")
        }
    }
}
