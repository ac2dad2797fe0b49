internal import AsyncHTTPClient
internal import FoundationEssentials
internal import NIOCore
internal import NIOHTTP1

/// A person with a browser, simulated: it opens an authorization URL, fills in the login page, and follows the redirect
/// to the app's loopback callback. It can also connect a device on the device page.
///
/// It has no scripts, cookies or TLS exceptions. It understands only simple pages, like those of
/// ``DevelopmentIdentityProvider`` and ``DevelopmentBackend``.
public struct ScriptedBrowser: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The person's choice on the pages.
    public struct Choice: Hashable, Sendable {
        let button: String
        /// Fills in username and password, logs in, and connects the device.
        public static let logIn = Choice(button: "login")
        /// Presses the first "Deny" button.
        public static let deny = Choice(button: "deny")
    }

    /// The last page.
    public struct Page: Sendable {
        /// The HTTP status.
        public var status: Int
        /// The HTML text.
        public var body: String
        /// The text of the `title` element; empty if there is none.
        public var title: String { HTMLPage(body).title }
    }

    private let username: String
    private let password: String
    private let choice: Choice

    /// Creates a person who knows this username and password.
    public init(username: String, password: String, choice: Choice = .logIn) {
        self.username = username
        self.password = password
        self.choice = choice
    }

    public var description: String { "ScriptedBrowser(\(username), \(choice.button))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["username": username, "choice": choice.button]) }

    /// Logs in or denies like ``visit(_:userCode:)``, and returns after the last page.
    /// - Throws: The errors of ``visit(_:userCode:)``, and ``VaultDevelopmentError`` with `unexpectedPage` if the
    ///   callback's status is 400 or more.
    public func open(_ url: String) async throws {
        let page = try await visit(url)
        guard page.status < 400 else {
            throw VaultDevelopmentError(.unexpectedPage, "The callback page says \(page.status) “\(page.title)”.")
        }
    }

    /// Logs in or denies, and returns the last page: from the app's callback, or from the provider after connecting a
    /// device.
    ///
    /// - Parameters:
    ///   - url: The authorization URL, or the URL that a device shows (`verification_uri`, with or without the code).
    ///   - userCode: The code on the device; nil if the URL has it, or if there is no device.
    /// - Throws: ``VaultDevelopmentError``: `unexpectedPage` if the provider refuses (a wrong password, an unknown client),
    ///   `notReachable` if the provider or the callback does not answer.
    public func visit(_ url: String, userCode: String? = nil) async throws -> Page {
        try await withClient { client in
            switch try await walk(from: url, userCode: userCode, client) {
            case .page(let status, _, let body): return Page(status: status, body: body)
            case .left(let callback):
                guard callback.scheme == "http",
                    ["127.0.0.1", "localhost", "[::1]", "::1"].contains(callback.host())
                else {
                    throw VaultDevelopmentError(
                        .unexpectedPage, "The login ends at an address outside loopback.")
                }
                let (status, _, body) = try await fetch(HTTPClientRequest(url: callback.absoluteString), client)
                return Page(status: status, body: body)
            }
        }
    }

    /// Logs in or denies at the authorization URL `url`, and returns the redirect URI with its parameters without
    /// calling it. It is for an app that gets the redirect in another way than by HTTP.
    /// - Throws: The errors of ``visit(_:userCode:)``.
    public func redirect(from url: String) async throws -> String {
        try await withClient { client in
            switch try await walk(from: url, userCode: nil, client) {
            case .left(let callback): return callback.absoluteString
            case .page(_, _, let body):
                throw VaultDevelopmentError(.unexpectedPage, "The login ends on “\(HTMLPage(body).title)”.")
            }
        }
    }

    // MARK: Steps

    /// Fills in all forms, until there is none or the way leads to another origin.
    private func walk(from text: String, userCode: String?, _ client: HTTPClient) async throws -> Arrival {
        guard let start = URL(string: text) else {
            throw VaultDevelopmentError(.unexpectedPage, "The authorization URL is not a URL.")
        }
        var arrival = try await follow(HTTPClientRequest(url: text), at: start, client)
        for step in 0..<5 {
            guard case .page(let status, let url, let body) = arrival else { return arrival }
            let page = HTMLPage(body)
            guard status < 400 else { throw refusal(status, page) }
            guard let form = page.form, let target = URL(string: form.action, relativeTo: url) else {
                if step > 0 { return arrival }
                throw VaultDevelopmentError(.unexpectedPage, "“\(page.title)” is not a login page.")
            }
            var request = HTTPClientRequest(url: target.absoluteString)
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            let fields = try fields(for: form, on: page, userCode: userCode)
            request.body = .bytes(ByteBuffer(string: FormParameters.encoded(fields)))
            arrival = try await follow(request, at: target, client)
        }
        throw VaultDevelopmentError(.unexpectedPage, "The provider shows too many forms.")
    }

    /// Returns the person's input, and the pressed button.
    private func fields(for form: HTMLPage.Form, on page: HTMLPage, userCode: String?) throws -> [(String, String)] {
        let denies = choice == .deny && form.buttons.contains { $0.name == "action" && $0.value == "deny" }
        if denies { return form.hiddenInputs + [("action", "deny")] }
        if form.inputs["password"] != nil {
            return form.hiddenInputs + [("username", username), ("password", password), ("action", "login")]
        }
        if let code = form.inputs["user_code"] {
            return form.hiddenInputs + [("user_code", userCode ?? code), ("action", "continue")]
        }
        guard let button = form.buttons.first else {
            throw VaultDevelopmentError(.unexpectedPage, "“\(page.title)” is not a login page.")
        }
        return form.hiddenInputs + [(button.name, button.value)]
    }

    private enum Arrival {
        case page(status: Int, url: URL, body: String)
        /// A redirect to another origin, which is not followed.
        case left(URL)
    }

    private func follow(_ first: HTTPClientRequest, at start: URL, _ client: HTTPClient) async throws -> Arrival {
        var request = first
        var url = start
        for _ in 0..<5 {
            let (status, location, body) = try await fetch(request, client)
            guard (300..<400).contains(status), let location, let next = URL(string: location, relativeTo: url) else {
                return .page(status: status, url: url, body: body)
            }
            guard (next.scheme, next.host(), next.port) == (start.scheme, start.host(), start.port) else {
                return .left(next.absoluteURL)
            }
            url = next.absoluteURL
            request = HTTPClientRequest(url: url.absoluteString)
        }
        throw VaultDevelopmentError(.unexpectedPage, "The provider sends too many redirects.")
    }

    private func fetch(
        _ request: HTTPClientRequest, _ client: HTTPClient
    ) async throws -> (status: Int, location: String?, body: String) {
        do {
            let response = try await client.execute(request, timeout: .seconds(30))
            let body = try await response.body.collect(upTo: 1 << 20)
            return (Int(response.status.code), response.headers.first(name: "Location"), String(buffer: body))
        } catch let error as CancellationError {
            throw error
        } catch {
            let host = URL(string: request.url)?.host() ?? "the server"
            throw VaultDevelopmentError(.notReachable, "No answer from \(host).", underlying: error)
        }
    }

    private func refusal(_ status: Int, _ page: HTMLPage) -> VaultDevelopmentError {
        VaultDevelopmentError(.unexpectedPage, "The provider says \(status) “\(page.title)”: \(page.alert)")
    }

    private func withClient<Result>(_ body: (HTTPClient) async throws -> Result) async throws -> Result {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
        do {
            let result = try await body(client)
            try? await client.shutdown()
            return result
        } catch {
            try? await client.shutdown()
            throw error
        }
    }
}
