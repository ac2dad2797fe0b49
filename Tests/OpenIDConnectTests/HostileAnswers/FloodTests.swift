import HTTPTypes
import TestSupport
import Testing
import VaultHTTP
import VaultNetworking

/// Answers that are far too long. The client stops early and keeps no part of them.
@Suite("Floods")
struct FloodTests {
    private static let piece = 64 * 1024
    private static let count = 200  // 12.5 MiB

    private func code(_ head: String, _ flood: String, end: String = "") async throws -> HTTPError.Code? {
        let part = Array(String(repeating: flood, count: max(1, Self.piece / flood.utf8.count)).utf8)
        let pieces = [Array(head.utf8)] + Array(repeating: part, count: Self.count) + [Array(end.utf8)]
        let server = try await HostileServer { _ in .init(pieces) }
        let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
        return await thrown(\HTTPError.code) {
            let answer = try await AsyncHTTPTransport().send(request, body: [], limits: HTTPLimits())
            #expect(answer.body.count <= HTTPLimits().bodyBytes)
        }
    }

    private static let start = "HTTP/1.1 200 OK\r\n"
    private static let chunked = start + "Transfer-Encoding: chunked\r\n\r\n"

    @Test func `when header lines never end, then the answer is invalid`() async throws {
        #expect(try await code(Self.start, "X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n") == .invalidAnswer)
    }

    @Test(arguments: ["", "X: "])
    func `when one header line never ends, then reading fails`(name: String) async throws {
        #expect(try await code(Self.start + name, "aaaaaaaaaaaaaaaa") == .invalidAnswer)
    }

    @Test func `when trailers never end, then the answer is invalid`() async throws {
        #expect(try await code(Self.chunked + "0\r\n", "X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n") == .invalidAnswer)
    }

    @Test func `when a body never ends, then the request fails`() async throws {
        // The parser may refuse this many small chunks before the limit is reached.
        #expect([.answerTooLarge, .invalidAnswer].contains(try await code(Self.chunked, "10\r\naaaaaaaaaaaaaaaa\r\n")))
        #expect(try await code(Self.chunked + "FFFFFFF\r\n", "a") == .answerTooLarge)
        #expect(try await code(Self.start + "\r\n", "a") == .answerTooLarge)
        #expect(try await code(Self.start + "Content-Length: 9223372036854775807\r\n\r\n", "a") == .answerTooLarge)
    }

    @Test func `when informational answers never end, then reading fails`() async throws {
        #expect(try await code("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n") == .invalidAnswer)
    }

    @Test func `when the body is compressed, then it stays compressed`() async throws {
        let body: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x4B, 0x04, 0, 0x43, 0xBE, 0xB7, 0xE8, 1, 0, 0, 0]
        let server = try await HostileServer { _ in
            .init([Array("\(Self.start)Content-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n".utf8), body])
        }
        let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
        let answer = try await AsyncHTTPTransport().send(request, body: [], limits: HTTPLimits())
        #expect(answer.body == body)
    }
}
