public import HTTPTypes

/// Opens a port of this machine for the browser's redirect that ends a sign-in (RFC 8252 section 7.3).
///
/// A conformer must listen on loopback addresses only, must take only a `GET` of the given path, and must assume that
/// other users and web pages connect, too.
public protocol RedirectListening: Sendable {
    /// Opens the port.
    ///
    /// - Parameters:
    ///   - port: 0 for any free port.
    ///   - path: the path of the redirect URI, such as `/callback`.
    ///   - isForLocalhost: whether the redirect URI says `localhost` instead of 127.0.0.1, so that a browser may try
    ///     [::1] first.
    /// - Throws: ``RedirectListenerError`` with `portInUse` or `cannotListen`.
    func listen(port: Int, path: String, isForLocalhost: Bool) async throws -> any RedirectListener
}

/// Opens no port, where the redirects are the app's own.
package struct NoRedirects: RedirectListening {
    package init() {}

    package func listen(port: Int, path: String, isForLocalhost: Bool) async throws -> any RedirectListener {
        throw RedirectListenerError(.cannotListen, port: port)
    }
}

/// An open port that waits for the browser's redirect.
public protocol RedirectListener: Sendable {
    /// The port.
    var port: Int { get }

    /// The connections that were refused. For one reader, who may miss some when there are many.
    var refused: AsyncStream<RefusedConnection> { get }

    /// Waits for the redirect; it may have come already. To be called once, and again after
    /// ``ReceivedRedirect/decline(_:status:)``.
    ///
    /// - Throws: ``RedirectListenerError`` with `timedOut` or `stopped`, or `CancellationError` when the task is
    ///   cancelled, after which the port is closed.
    func redirect(timeout: Duration) async throws -> ReceivedRedirect

    /// Closes the port and every connection; afterwards the port is free. May be called more than once. A redirect that
    /// was not answered gets a neutral page first.
    func stop() async
}

/// The browser's redirect, still waiting for the page that tells the person how it went.
public struct ReceivedRedirect: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// How the browser is answered.
    public struct Page: Sendable {
        /// The HTTP status.
        public var status: HTTPResponse.Status
        /// An HTML document.
        public var html: String
        /// Whether the listener waits for another redirect, as this was not the one.
        public var waitsOn: Bool
    }

    /// Path and query as received. A secret until it is redeemed: it holds the authorization code.
    public let target: String
    private let answer: @Sendable (Page) async -> Void

    /// - Parameters:
    ///   - target: path and query, as received.
    ///   - answer: sends the page and closes the connection. Only its first call may have an effect.
    public init(target: String, answer: @escaping @Sendable (Page) async -> Void) {
        self.target = target
        self.answer = answer
    }

    /// Shows `page`, an HTML document. Returns when the page is on its way or the browser has gone; only the first call
    /// has an effect.
    public func respond(_ page: String, status: HTTPResponse.Status = .ok) async {
        await answer(Page(status: status, html: page, waitsOn: false))
    }

    /// Shows `page` like ``respond(_:status:)``, and lets the listener wait for another redirect: this was not the one.
    public func decline(_ page: String, status: HTTPResponse.Status = .badRequest) async {
        await answer(Page(status: status, html: page, waitsOn: true))
    }

    public var description: String { "ReceivedRedirect" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A connection to the port that waits for the browser's redirect, which was not the person's.
public struct RefusedConnection: Sendable, Hashable, CustomStringConvertible {
    /// The number of the user that it came from; nil when that cannot be told, as of a browser in a container.
    public let user: UInt32?

    /// Makes a report of a refused connection.
    ///
    /// - Parameter user: the number of the user that it came from; nil when that cannot be told.
    public init(user: UInt32?) {
        self.user = user
    }

    /// One sentence for a person.
    public var description: String {
        user.map { "This program refused a connection from another user (uid \($0)) to this sign-in." }
            ?? "This program refused a connection to this sign-in: it could not find out which user made it."
    }
}
