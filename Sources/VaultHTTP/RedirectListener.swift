public import HTTPTypes

/// A source of ports on this machine for the browser's redirect at the end of a sign-in (RFC 8252 section 7.3).
///
/// A conformer must listen on loopback addresses only, and accept only a `GET` of the given path. It must expect
/// connections from other users and web pages.
public protocol RedirectListening: Sendable {
    /// Opens the port.
    ///
    /// - Parameters:
    ///   - port: 0 for any free port.
    ///   - path: the path of the redirect URI, such as `/callback`.
    ///   - isForLocalhost: whether the redirect URI has `localhost` instead of 127.0.0.1. Then a browser may try [::1]
    ///     first.
    /// - Throws: ``RedirectListenerError`` with `portInUse` or `cannotListen`.
    func listen(port: Int, path: String, isForLocalhost: Bool) async throws -> any RedirectListener
}

/// The source for apps with their own redirects. It opens no port.
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

    /// The refused connections, for one reader. If there are many, the reader may miss some.
    var refused: AsyncStream<RefusedConnection> { get }

    /// Waits for the redirect, which may have come already. Call it once, and again after
    /// ``ReceivedRedirect/decline(_:status:)``.
    ///
    /// - Throws: ``RedirectListenerError`` with `timedOut` or `stopped`, or `CancellationError` if the task is
    ///   cancelled. Then the port is closed.
    func redirect(timeout: Duration) async throws -> ReceivedRedirect

    /// Closes the port and every connection, so the port is free. An unanswered redirect gets a neutral page first.
    /// Another call does no harm.
    func stop() async
}

/// The browser's redirect. The browser still waits for a page with the result.
public struct ReceivedRedirect: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The answer to the browser.
    public struct Page: Sendable {
        /// The HTTP status.
        public var status: HTTPResponse.Status
        /// An HTML document.
        public var html: String
        /// Whether the listener waits for another redirect, because this one was wrong.
        public var waitsOn: Bool
    }

    /// The path and query as received. They hold the authorization code, a secret until it is redeemed.
    public let target: String
    private let answer: @Sendable (Page) async -> Void

    /// - Parameters:
    ///   - target: path and query, as received.
    ///   - answer: sends the page and closes the connection. Only the first call may have an effect.
    public init(target: String, answer: @escaping @Sendable (Page) async -> Void) {
        self.target = target
        self.answer = answer
    }

    /// Shows `page`, an HTML document. Returns when the page is sent or the browser is gone. Only the first call has an
    /// effect.
    public func respond(_ page: String, status: HTTPResponse.Status = .ok) async {
        await answer(Page(status: status, html: page, waitsOn: false))
    }

    /// Shows `page` like ``respond(_:status:)``, and lets the listener wait for another redirect, because this one was
    /// wrong.
    public func decline(_ page: String, status: HTTPResponse.Status = .badRequest) async {
        await answer(Page(status: status, html: page, waitsOn: true))
    }

    public var description: String { "ReceivedRedirect" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A refused connection to the port for the redirect, because it was not the person's.
public struct RefusedConnection: Sendable, Hashable, CustomStringConvertible {
    /// The number of the connecting user; nil if unknown, for example for a browser in a container.
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
