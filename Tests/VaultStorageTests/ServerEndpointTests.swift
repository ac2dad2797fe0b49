import Testing
import VaultStorage

/// The address of a server, as a person types it.
@Suite struct ServerEndpointTests {
    @Test(arguments: [
        ("example.com", "https://example.com"), ("https://example.com", "https://example.com"),
        ("  HTTPS://Example.COM:443// ", "https://example.com"), ("https:example.com", "https://example.com"),
        ("//example.com/", "https://example.com"), ("example.com:8443/notes/", "https://example.com:8443/notes"),
        ("https://example.com/A//b/?".replacing("?", with: ""), "https://example.com/A/b"),
        ("example.com.:0443", "https://example.com"), ("example.com:", "https://example.com"),
        ("https://example.com/a%20b", "https://example.com/a%20b"),
        ("xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ("http://localhost:80/", "http://localhost"), ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("127.0.0.1:8080", "https://127.0.0.1:8080"), ("192.168.1.7", "https://192.168.1.7"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"), ("[2001:DB8:0:0::1]:443", "https://[2001:db8::1]"),
        ("2001:db8::1", "https://[2001:db8::1]"), ("http://[0:0:0:0:0:0:0:1]", "http://[::1]"),
        ("https://host_name.local", "https://host_name.local"),
    ])
    func `when an address is typed, then its spelling is normalized`(typed: String, url: String) throws {
        let endpoint = try ServerEndpoint(typed)
        #expect(endpoint.url == url)
        #expect(try ServerEndpoint(endpoint.url) == endpoint)
    }

    @Test(arguments: [
        "", "  ", "https://", "/notes", "ftp://example.com", "http://example.com", "http://127.1", "http://0x7f.0.0.1",
        "127.1", "2130706433", "0x7f000001", "1.2.3", "1.2.3.256", "01.2.3.4", "example.com:0", "example.com:65536",
        "example.com:+1", "example.com:x", "example.com?x=1", "example.com/#top", "example.com/a\\b", "a b.com",
        "https://alice:secret-word@example.com", "alice@example.com", "bücher.example", "example..com", ".example.com",
        "https://[::1", "https://[::1]x", "https://[::1%25eth0]", "https://[127.0.0.1]", "example.com/../x",
        "example.com/%2E%2e/x", "exa%6dple.com", "http://[::ffff:127.0.0.1]",
    ])
    func `when an address is invalid, then it is refused`(typed: String) throws {
        let error = #expect(throws: VaultError.self) { _ = try ServerEndpoint(typed) }
        #expect(error?.code == .configurationInvalid)
        #expect(error?.description.contains("secret-word") == false)
    }

    @Test(arguments: [
        ("http://192.168.1.7:8000", "http://192.168.1.7:8000"), ("http://10.0.0.1/notes/", "http://10.0.0.1/notes"),
        ("http://172.16.0.1", "http://172.16.0.1"), ("http://172.31.255.1", "http://172.31.255.1"),
        ("http://[FD12:3456:0::1]:8000", "http://[fd12:3456::1]:8000"), ("HTTP://Notes:80/", "http://notes"),
        ("http://notes.local", "http://notes.local"), ("http://notes.home.arpa.", "http://notes.home.arpa"),
        ("http://a.notes.lan", "http://a.notes.lan"), ("http://notes.internal", "http://notes.internal"),
    ])
    func `when plain http is allowed, then local servers work`(typed: String, url: String) throws {
        let endpoint = try ServerEndpoint(typed, allowsInsecureHTTP: true)
        #expect(endpoint.url == url && endpoint.isInsecure)
        #expect(AccountID(issuer: endpoint.url, subject: "alice").usesInsecureHTTP)
        let error = #expect(throws: VaultError.self) { _ = try ServerEndpoint(typed) }
        #expect(error?.code == .configurationInvalid && error?.detail == .plainHTTP)
    }

    @Test(arguments: [
        "http://example.com", "http://192.0.2.7", "http://172.15.0.1", "http://172.32.0.1", "http://11.0.0.1",
        "http://192.169.0.1", "http://100.64.0.1", "http://169.254.169.254", "http://0.0.0.0", "http://10.1",
        "http://[2001:db8::1]", "http://[fe80::1]", "http://[::fd00]", "http://notes.lan.example.com",
        "http://local.example", "http://home.arpa.example", "http://notesxlan.example",
    ])
    func `when plain http is allowed, then public servers are refused`(typed: String) {
        let error = #expect(throws: VaultError.self) { _ = try ServerEndpoint(typed, allowsInsecureHTTP: true) }
        #expect(error?.code == .configurationInvalid && error?.detail == .addressWrong)
    }

    @Test(arguments: ["https://notes.lan", "http://127.0.0.1:8080", "http://localhost", "http://[::1]", "notes"])
    func `when an address is safe, then it counts as secure`(typed: String) throws {
        let endpoint = try ServerEndpoint(typed, allowsInsecureHTTP: true)
        #expect(!endpoint.isInsecure && !AccountID(issuer: endpoint.url, subject: "alice").usesInsecureHTTP)
    }
}
