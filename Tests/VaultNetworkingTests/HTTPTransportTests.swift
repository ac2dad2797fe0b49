import HTTPTypes
import NIOPosix
import TestSupport
import Testing
import VaultBase
import VaultHTTP

@testable import VaultNetworking

@Suite("HTTP transport")
struct HTTPTransportTests {
    let transport = AsyncHTTPTransport()

    private func request(_ port: Int, method: HTTPRequest.Method = .get, path: String = "/x?y=1") -> HTTPRequest {
        HTTPRequest(method: method, scheme: "http", authority: "127.0.0.1:\(port)", path: path)
    }

    private func code(
        _ request: HTTPRequest, limits: HTTPLimits = HTTPLimits(), with transport: AsyncHTTPTransport? = nil
    ) async -> HTTPError.Code? {
        await thrown(\HTTPError.code) {
            _ = try await (transport ?? self.transport).send(request, body: [], limits: limits)
        }
    }

    @Test func `when an exchange runs, then both messages arrive whole`() async throws {
        let server = try await RawServer(.answer("HTTP/1.1 201 Created\r\nContent-Length: 2\r\nX-A: b\r\n\r\nhi"))
        var post = request(server.port, method: .post)
        post.headerFields[.contentType] = "text/plain"
        let answer = try await transport.send(post, body: Array("hello".utf8), limits: HTTPLimits())
        #expect(answer.status.code == 201)
        #expect(answer.headerFields[HTTPField.Name("X-A")!] == "b")
        #expect(answer.body == Array("hi".utf8))
        let sent = server.received.joined()
        #expect(sent.hasPrefix("POST /x?y=1 HTTP/1.1\r\n"))
        #expect(sent.lowercased().contains("content-type: text/plain\r\n"))
        #expect(sent.lowercased().contains("content-length: 5\r\n"))
        #expect(sent.hasSuffix("hello"))
        await server.stop()
    }

    @Test func `when the answer redirects, then the transport does not follow`() async throws {
        let server = try await RawServer(
            .answer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"))
        let answer = try await transport.send(request(server.port), body: [], limits: HTTPLimits())
        #expect(answer.status.code == 302)
        #expect(server.received.count == 1)
        await server.stop()
    }

    @Test func `when a body exceeds the limit, then it is refused`() async throws {
        let server = try await RawServer(.answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
        var limits = HTTPLimits()
        limits.bodyBytes = 5
        #expect(await code(request(server.port), limits: limits) == nil)
        limits.bodyBytes = 4
        #expect(await code(request(server.port), limits: limits) == .answerTooLarge)
        await server.stop()
    }

    @Test func `when a body is endless, then the exchange fails`() async throws {
        let server = try await RawServer(.flood)
        #expect(await code(request(server.port)) == .answerTooLarge)
        await server.stop()
    }

    @Test(arguments: [RawServer.Reaction.hang, .stall, .close])
    func `when the answer is incomplete, then nothing is sent again`(reaction: RawServer.Reaction) async throws {
        let server = try await RawServer(reaction)
        var limits = HTTPLimits()
        limits.exchange = .seconds(2)  // Enough for the request to arrive on a busy machine.
        let expected: HTTPError.Code = reaction == .close ? .interrupted : .timedOut
        #expect(await code(request(server.port, method: .post), limits: limits) == expected)
        #expect(server.received.count == 1)
        await server.stop()
    }

    @Test func `when a connection is refused, then the error is notConnected`() async throws {
        let server = try await RawServer(.hang)
        await server.stop()
        #expect(await code(request(server.port)) == .notConnected)
    }

    @Test func `when DNS or TLS fails, then the error is notConnected`() async throws {
        let missing = HTTPRequest(method: .get, scheme: "https", authority: "no-such-host.invalid", path: "/")
        #expect(await code(missing) == .notConnected)
        let server = try await RawServer(.answer("HTTP/1.1 400 Bad Request\r\n\r\n"))
        let tls = HTTPRequest(method: .get, scheme: "https", authority: "127.0.0.1:\(server.port)", path: "/")
        #expect(await code(tls) == .notConnected)
        await server.stop()
    }

    @Test func `when a TLS handshake stalls, then the connect limit applies`() async throws {
        let server = try await RawServer(.hang)
        var limits = HTTPLimits()
        limits.connect = .milliseconds(200)
        limits.exchange = .seconds(5)
        let tls = HTTPRequest(method: .get, scheme: "https", authority: "127.0.0.1:\(server.port)", path: "/")
        do {
            _ = try await transport.send(tls, body: [], limits: limits)
            Issue.record("was answered")
        } catch let error as HTTPError {
            #expect(error.code == .notConnected)
            #expect("\(error.underlying as Any)".contains("connectTimeout"))
        }
        await server.stop()
    }

    @Test(
        arguments: [
            ("http", "example.com"), ("http", "192.168.0.1"), ("http", "127.0.0.1.example.com"),
            ("http", "localhost.example"),
            ("http", "[::2]"), ("http", "127.1"), ("http", "127.0.0.01"), ("http", "0x7f.0.0.1"),
            ("http", "2130706433"),
            ("http", "0.0.0.0"), ("http", "127.0.0.1:80@example.com"), ("https", "user:pw@example.com"), ("https", ""),
            ("ftp", "127.0.0.1"), ("http", "127.0.0.1\\@example.com"), ("http", "example.com#@127.0.0.1"),
        ])
    func `when an address is forbidden, then nothing is sent`(scheme: String, authority: String) async {
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: "/")
        do {
            _ = try await transport.send(request, body: [], limits: HTTPLimits())
            Issue.record("was sent")
        } catch {
            #expect((error as? HTTPError)?.code == .forbiddenURL)
            #expect(!"\(error)".contains("pw"))
        }
    }

    /// The names do not exist, and the address is on no network, so nothing is sent in any case.
    @Test(arguments: [
        ("no-such-host.internal", true, true), ("no-such-host.internal", false, false), ("example.com", true, false),
        ("203.0.113.1", true, false),
    ])
    func `when plain http is allowed, then only local hosts count`(
        authority: String, isAllowed: Bool, isCalled: Bool
    ) async {
        var limits = HTTPLimits()
        limits.allowsInsecureHTTP = isAllowed
        limits.connect = .seconds(1)
        let request = HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/")
        #expect(await code(request, limits: limits) == (isCalled ? .notConnected : .forbiddenURL))
    }

    @Test func `when a host's certificate file fails, then nothing is sent`() async throws {
        let server = try await RawServer(.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        let transport = AsyncHTTPTransport(hostCertificateFiles: ["LocalHost": CertificateFile(path: "/no-such-file")])
        for authority in ["localhost:\(server.port)", "LOCALHOST.:\(server.port)"] {
            let tls = HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/")
            #expect(await code(tls, with: transport) == .certificateFileInvalid)
        }
        #expect(server.received.isEmpty)
        // The file is only for that host.
        #expect(await code(request(server.port), with: transport) == nil)
        await server.stop()
    }

    @Test(arguments: ["@127.0.0.1:PORT/x", ":PORT/x", "x", "", "?@127.0.0.1:PORT/", "\\@127.0.0.1:PORT/"])
    func `when a path names another host, then nothing is sent`(path: String) async throws {
        let server = try await RawServer(.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        let request = HTTPRequest(
            method: .get, scheme: "http", authority: "127.0.0.1",
            path: path.replacing("PORT", with: "\(server.port)"))
        #expect(await code(request) == .forbiddenURL)
        #expect(server.received.isEmpty)
        await server.stop()
    }

    @Test(arguments: ["/", "?", "#", "\\", " ", "\t", "\r\n", "\0", "\u{85}", "\u{2028}"])
    func `when an authority contains a separator, then it is refused`(end: String) async {
        // In the middle, because HTTPRequest cuts off white space around the value.
        let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1\(end)x", path: "/")
        #expect(await code(request) == .forbiddenURL)
    }

    @Test(arguments: ["127.0.0.1", "127.255.0.3", "localhost", "LOCALHOST", "::1", "[::1]"])
    func `when a host names this machine, then it is loopback`(host: String) {
        #expect(LoopbackAddress.isLoopback(host: host))
    }

    @Test func `when the task is cancelled, then the exchange ends`() async throws {
        let server = try await RawServer(.hang)
        let task = Task { await code(request(server.port)) }
        while server.received.isEmpty { await Task.yield() }
        task.cancel()
        #expect(await task.value == .cancelled)
        await server.stop()
    }

    @Test func `when the transport is shut down, then nothing is sent`() async throws {
        let server = try await RawServer(.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        let transport = AsyncHTTPTransport()
        #expect(await code(request(server.port), with: transport) == nil)
        await transport.shutdown()
        await transport.shutdown()
        #expect(await code(request(server.port), with: transport) == .notConnected)
        #expect(await code(request(server.port), with: AsyncHTTPTransport()) == nil)
        #expect(server.received.count == 2)
        await server.stop()
    }

    @Test func `when an answer is printed, then its body stays hidden`() {
        let answer = HTTPAnswer(status: .ok, body: Array("SECRET".utf8))
        var printed = "\(answer)\(String(reflecting: answer))"
        dump(answer, to: &printed)
        #expect(!printed.contains("SECRET"))
        #expect(!printed.contains("83"))
    }
}
