import HTTPTypes
import NIOCore
import NIOPosix
import TestSupport
import Testing
import VaultHTTP

@testable import VaultNetworking

@Suite("Loopback listener")
struct LoopbackListenerTests {
    private func status(_ answer: String) -> String {
        String(answer.prefix { $0 != "\r\n" }.split(separator: " ").dropFirst().first ?? "")
    }

    @Test func `when the callback arrives, then its page shows the result`() async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        async let answer = RawClient.get("/callback?code=SECRET&state=b", port: listener.port)
        let callback = try await listener.redirect(timeout: .seconds(60))
        #expect(callback.target == "/callback?code=SECRET&state=b")
        var printed = "\(callback)\(String(reflecting: callback))"
        dump(callback, to: &printed)
        #expect(!printed.contains("SECRET"))
        await callback.respond("<p>It was denied</p>", status: .forbidden)
        await callback.respond("too late")
        let received = try await answer.lowercased()
        #expect(received.hasPrefix("http/1.1 403 "))
        #expect(received.hasSuffix("\r\n\r\n<p>it was denied</p>"))
        for field in [
            "content-type: text/html; charset=utf-8", "cache-control: no-store", "referrer-policy: no-referrer",
            "content-security-policy: default-src 'none'; style-src 'unsafe-inline'",
            "x-content-type-options: nosniff", "connection: close",
        ] {
            #expect(received.contains("\r\n" + field))
        }
        await listener.stop()
    }

    @Test func `when a callback comes early, then it is not lost`() async throws {
        let listener = try await LoopbackListener.start(path: "")
        async let answer = RawClient.get("/?code=a", host: "localhost:\(listener.port)", port: listener.port)
        // The answer may come before or after the callback was read. Both orders must work.
        _ = try await RawClient.get("/favicon.ico", port: listener.port)
        let callback = try await listener.redirect(timeout: .seconds(60))
        await callback.respond("done")
        #expect(try await answer.hasSuffix("done"))
        await listener.stop()
    }

    @Test(
        arguments: [
            ("GET", "/favicon.ico", nil, "404"), ("GET", "/callback/", nil, "404"),
            ("GET", "/callbackx?code=a", nil, "404"),
            ("GET", "/CALLBACK", nil, "404"), ("GET", "http://evil.example/callback", nil, "404"),
            ("POST", "/callback", nil, "405"), ("OPTIONS", "/callback", nil, "405"),
            ("GET", "/callback?code=a", "evil.example", "400"), ("GET", "/callback?code=a", "127.0.0.1:1", "400"),
            ("GET", "/callback?code=a", "127.0.0.1", "400"), ("GET", "/callback?code=a", "", "400"),
            ("GET", "/callback?code=a", "127.0.0.1:PORT\r\nHost: 127.0.0.1:PORT", "400"),
            ("GET", "/callback?code=a", "127.0.0.1:PORT.evil.example", "400"),
        ] as [(String, String, String?, String)])
    func `when another request comes, then it does not count`(
        method: String, target: String, host: String?, expected: String
    ) async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        let host = host?.replacing("PORT", with: "\(listener.port)")
        let answer = try await RawClient.get(target, host: host, method: method, port: listener.port)
        #expect(status(answer) == expected)
        async let good = RawClient.get("/callback?code=good", host: "[::1]:\(listener.port)", port: listener.port)
        let callback = try await listener.redirect(timeout: .seconds(60))
        #expect(callback.target == "/callback?code=good")
        await callback.respond("ok")
        _ = try await good
        await listener.stop()
    }

    @Test(
        arguments: [
            "GET /callback HTTP/1.1\r\n\r\n", "\u{16}\u{3}\u{1} hello\r\n\r\n", "GET /call back HTTP/1.1\r\n\r\n",
        ])
    func `when a request is malformed, then it gets 400`(text: String) async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        #expect(status(try await RawClient.exchange(text, port: listener.port)) == "400")
        await listener.stop()
    }

    @Test func `when a second callback comes, then it gets 410`() async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        async let first = RawClient.get("/callback?n=1", port: listener.port)
        let callback = try await listener.redirect(timeout: .seconds(60))
        #expect(status(try await RawClient.get("/callback?n=2", port: listener.port)) == "410")
        await callback.respond("ok")
        #expect(status(try await first) == "200")
        #expect(status(try await RawClient.get("/callback?n=3", port: listener.port)) == "410")
        #expect(
            await thrown(\RedirectListenerError.code) { _ = try await listener.redirect(timeout: .seconds(60)) }
                == .stopped)
        await listener.stop()
    }

    @Test func `when a callback is declined, then another one may come`() async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        for number in 1...3 {
            async let answer = RawClient.get("/callback?n=\(number)", port: listener.port)
            let callback = try await listener.redirect(timeout: .seconds(60))
            #expect(callback.target == "/callback?n=\(number)")
            await callback.decline("not this one")
            let received = try await answer
            #expect(status(received) == "400" && received.hasSuffix("not this one"))
        }
        async let answer = RawClient.get("/callback?n=4", port: listener.port)
        let last = try await listener.redirect(timeout: .seconds(60))
        // A caller that stopped meanwhile does not wait again.
        async let stopped: Void = listener.stop()
        _ = try await answer
        await stopped
        await last.decline("too late")
        #expect(
            await thrown(\RedirectListenerError.code) { _ = try await listener.redirect(timeout: .seconds(60)) }
                == .stopped)
    }

    @Test func `when a head is oversize, then it gets 431`() async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        let long = String(repeating: "a", count: 17 * 1024)
        #expect(status(try await RawClient.get("/callback?" + long, port: listener.port)) == "431")
        let fields = "GET /callback HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\nX: \(long)\r\n\r\n"
        #expect(status(try await RawClient.exchange(fields, port: listener.port)) == "431")
        await listener.stop()
    }

    @Test func `when the time runs out, then waiting ends`() async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        #expect(
            await thrown(\RedirectListenerError.code) { _ = try await listener.redirect(timeout: .milliseconds(20)) }
                == .timedOut)
        // A late request still gets an answer.
        #expect(status(try await RawClient.get("/callback?code=late", port: listener.port)) == "410")
        await listener.stop()
    }

    @Test func `when waiting is cancelled, then the port closes`() async throws {
        // Another test may take a free port at once, but not three times in a row.
        for _ in 1...3 {
            let listener = try await LoopbackListener.start(path: "/callback")
            let task = Task { try await listener.redirect(timeout: .seconds(60)) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            guard let next = try? await LoopbackListener.start(port: listener.port, path: "/callback") else { continue }
            return await next.stop()
        }
        Issue.record("the port is still taken")
    }

    @Test func `when the listener stops, then waiting ends`() async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        async let code = thrown(\RedirectListenerError.code) { _ = try await listener.redirect(timeout: .seconds(60)) }
        await listener.stop()
        #expect(await code == .stopped)
        await listener.stop()
    }

    @Test func `when the listener stops, then open callbacks get a page`() async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        async let idle = RawClient.exchange("", port: listener.port)
        async let half = RawClient.exchange("GET /callback HT", port: listener.port)
        async let answer = RawClient.get("/callback?code=a", port: listener.port)
        _ = try await listener.redirect(timeout: .seconds(60))
        await listener.stop()
        let page = try await answer
        #expect(status(page) == "200")
        #expect(page.contains("You can close this tab"))
        // These may also have come too late for the listener to accept them.
        #expect((try? await idle) ?? "" == "")
        #expect((try? await half) ?? "" == "")
    }

    @Test func `when the port is taken, then the error says so`() async throws {
        let listener = try await LoopbackListener.start(path: "/callback")
        let port = listener.port
        #expect(
            await thrown(\RedirectListenerError.code) { _ = try await LoopbackListener.start(port: port, path: "/") }
                == .portInUse)
        async let answer = RawClient.get("/callback?code=a", port: port)
        await (try listener.redirect(timeout: .seconds(60))).respond("ok")
        _ = try await answer
        await listener.stop()
        let next = try await LoopbackListener.start(port: port, path: "/")
        #expect(next.port == port)
        await next.stop()
    }

    @Test func `when one localhost address is taken, then listening fails`() async throws {
        // As on every machine, unless this one has no IPv6.
        let probe = try? await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "::1", port: 0).get()
        try await probe?.close()
        let addresses = probe == nil ? ["127.0.0.1"] : ["127.0.0.1", "::1"]
        for address in addresses {
            let listener = try await LoopbackListener.start(path: "/callback", isForLocalhost: true)
            let port = listener.port
            async let answer = RawClient.get(
                "/callback?code=a", host: "localhost:\(port)", port: port, address: address)
            let callback = try await listener.redirect(timeout: .seconds(60))
            await callback.respond("ok")
            #expect(try await answer.hasSuffix("ok"))
            await listener.stop()

            // Another program has one of the two.
            let other = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: address, port: 0).get()
            let taken = try #require(other.localAddress?.port)
            let error = await #expect(throws: RedirectListenerError.self) {
                _ = try await LoopbackListener.start(port: taken, path: "/", isForLocalhost: true)
            }
            #expect(error?.code == .portInUse)
            #expect(error?.description.contains(address) == true)
            try await other.close()
            // The failed attempt leaves no port open.
            await (try LoopbackListener.start(port: taken, path: "/", isForLocalhost: true)).stop()
        }
    }

    @Test(arguments: [-1, 65536, Int.max])
    func `when a port is impossible, then listening fails`(port: Int) async {
        #expect(
            await thrown(\RedirectListenerError.code) { _ = try await LoopbackListener.start(port: port, path: "/") }
                == .cannotListen)
    }

    @Test func `when a page contains markup, then it is escaped`() {
        let page = LoopbackPage(title: "<b>&\"'", message: "</p><script>")
        #expect(page.html.contains("&lt;b&gt;&amp;&quot;&#39;"))
        #expect(!page.html.contains("<script>"))
    }
}
