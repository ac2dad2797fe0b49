import Hummingbird
import Logging
import Testing
import VaultDevelopment

@Suite struct ScriptedBrowserTests {
    @Test(arguments: [(ScriptedBrowser.Choice.logIn, "code"), (.deny, "error")])
    func `when the login ends, then the callback page is read`(
        choice: ScriptedBrowser.Choice, parameter: String
    ) async throws {
        try await withCallbackServer { redirectURI in
            try await withDevelopmentIdentityProvider { provider in
                let url = ProviderClient(provider).authorizationURL(["redirect_uri": redirectURI])
                let browser = ScriptedBrowser(username: "alice", password: "alice-password", choice: choice)
                let page = try await browser.visit(url)
                #expect(page.status == 200)
                #expect(page.title == "<Back & well>")
                #expect(page.body.contains("\(parameter) s-1"))
            }
        }
    }

    @Test func `when the provider is stopped, then opening a page fails`() async throws {
        let provider = try await DevelopmentIdentityProvider.start()
        let url = ProviderClient(provider).authorizationURL()
        await provider.stop()
        let error = await #expect(throws: VaultDevelopmentError.self) {
            try await ScriptedBrowser(username: "alice", password: "x").open(url)
        }
        #expect(error?.code == .notReachable)
    }

    @Test func `when a browser is printed, then its password is hidden`() {
        let browser = ScriptedBrowser(username: "alice", password: "top-secret")
        var dumped = ""
        dump(browser, to: &dumped)
        dump(DevelopmentIdentityProvider.User.alice, to: &dumped)
        #expect(!"\(browser) \(String(reflecting: browser)) \(dumped)".contains("secret"))
        #expect(!dumped.contains("alice-password"))
    }

    /// An app's loopback listener.
    private func withCallbackServer(_ body: @escaping @Sendable (String) async throws -> Void) async throws {
        let router = Router()
        router.get("/callback") { request, _ in
            let query = request.uri.queryParameters
            let kind = query["code"] != nil ? "code" : query["error"] != nil ? "error" : "?"
            let html = "<html><title>&lt;Back &amp; well&gt;</title><p>\(kind) \(query["state"] ?? "")</p></html>"
            return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: html)))
        }
        let (ports, started) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { started.yield($0.localAddress?.port ?? 0) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            for await port in ports {
                try await body("http://127.0.0.1:\(port)/callback")
                break
            }
            group.cancelAll()
            try? await group.waitForAll()
        }
    }
}
