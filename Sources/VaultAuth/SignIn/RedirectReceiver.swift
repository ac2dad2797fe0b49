internal import Foundation
internal import OpenIDConnect
package import VaultHTTP
public import VaultStorage

/// How the browser's redirect comes back to this program.
@nonexhaustive
public enum RedirectDelivery: Sendable {
    /// The browser goes to a port of this machine on which the program listens. With the app's own redirect URI, the
    /// app calls ``Auth/handleRedirect(url:)``.
    case automatic
    /// The person copies the last address of the browser, from any machine. The closure asks for it. If the address
    /// belongs to another login, the closure is called again with the error.
    case pasted(@Sendable (_ objection: VaultError?) async throws -> String)

    /// Whether the person has to carry the address to another machine, which takes time.
    var isPasted: Bool { if case .pasted = self { true } else { false } }
}

/// The longest time that the person has in the browser.
private let timeout = Duration.seconds(300)

/// Waits for the redirect that ends a login in the browser (RFC 8252 section 7).
package protocol RedirectReceiver: Sendable {
    /// The URL to which the browser returns, exactly as the provider gets it.
    var redirectURI: String { get }

    /// Passes the redirect (its URL, or path and query) to `finish`, and shows the person the result.
    func receive<R: Sendable>(_ finish: @Sendable (String) async throws -> R) async throws -> R

    /// Stops waiting.
    func stop() async

    /// Calls `tell` for each refused connection, until the task is cancelled.
    func watch(_ tell: @Sendable (RefusedConnection) async -> Void) async
}

extension RedirectReceiver {
    package func watch(_ tell: @Sendable (RefusedConnection) async -> Void) async {}

    /// Shows `url` to the person while `finish` waits for the redirect. The first failure ends both, but a redirect that
    /// has come counts more than a browser that failed or was closed.
    package func finish<R: Sendable>(
        opening url: String, with userAgent: any UserAgent, _ finish: @escaping @Sendable (String) async throws -> R
    ) async throws -> R {
        let browser = OpenedBrowser()
        do {
            let result = try await withThrowingTaskGroup(of: R?.self) { group in
                group.addTask {
                    do {
                        try await userAgent.open(url)
                    } catch {
                        if browser.endsSignIn(after: error) { throw error }
                    }
                    return nil
                }
                group.addTask {
                    let result: R = try await receive { redirect in
                        try await browser.redeem { try await finish(redirect) }
                    }
                    return result
                }
                group.addTask {
                    await watch { await userAgent.connectionWasRefused($0) }
                    return nil
                }
                defer { group.cancelAll() }
                while let result = try await group.next() {
                    if let result { return result }
                }
                throw CancellationError()
            }
            await stop()
            return result
        } catch {
            await stop()
            throw error
        }
    }
}

/// A receiver on a port of this machine.
struct LoopbackReceiver: RedirectReceiver {
    let redirectURI: String
    private let listener: any RedirectListener
    /// The clock for the person's five minutes.
    private let clock: any Clock<Duration>

    init(
        _ redirect: LoopbackRedirect, _ listening: any RedirectListening,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws {
        self.clock = clock
        do {
            listener = try await listening.listen(
                port: redirect.port ?? 0, path: redirect.path, isForLocalhost: redirect.host == "localhost")
        } catch let error as RedirectListenerError {
            throw VaultError(
                .configurationInvalid,
                "The redirect address on port \(redirect.port ?? 0) cannot be used: \(error) Close the program that uses the port, or choose another redirect URI.",
                underlying: error)
        }
        redirectURI = redirect.uri(port: listener.port)
    }

    func receive<R: Sendable>(_ finish: @Sendable (String) async throws -> R) async throws -> R {
        let timeLeft = clock.countdown(of: timeout)
        while true {
            let received = try await listener.redirect(timeout: timeLeft())
            do {
                let result = try await finish(received.target)
                await received.respond(CallbackPage.success)
                return result
            } catch let error as OpenIDConnectError where error.code == .stateMismatch {
                // Any program or page on this machine can send such a request. Nothing was done with it, and the right
                // one can still come.
                await received.decline(CallbackPage.foreign)
            } catch {
                let wasDenied = (error as? OpenIDConnectError)?.code == .denied
                await received.respond(wasDenied ? CallbackPage.denied : CallbackPage.failure)
                throw error
            }
        }
    }

    func stop() async { await listener.stop() }

    /// Reports each user once, and not for ever: another user could fill the person's terminal.
    func watch(_ tell: @Sendable (RefusedConnection) async -> Void) async {
        var known: Set<RefusedConnection> = []
        for await connection in listener.refused where known.count < 3 && known.insert(connection).inserted {
            await tell(connection)
        }
    }
}

/// A receiver for a redirect that the app receives, or that the person copies.
struct HandedRedirectReceiver: RedirectReceiver {
    let redirectURI: String
    /// The clock for the person's five minutes.
    let clock: any Clock<Duration>
    let redirect: @Sendable (_ objection: VaultError?) async throws -> String

    init(
        redirectURI: String, clock: any Clock<Duration> = ContinuousClock(),
        redirect: @escaping @Sendable (_ objection: VaultError?) async throws -> String
    ) {
        self.redirectURI = redirectURI
        self.clock = clock
        self.redirect = redirect
    }

    func receive<R: Sendable>(_ finish: @Sendable (String) async throws -> R) async throws -> R {
        let end = clock.end(of: timeout)
        var objection: VaultError?
        while true {
            let address = try await next(objection, until: end)
            do {
                return try await finish(address)
            } catch let error as OpenIDConnectError where error.code == .stateMismatch {
                // The redirect is of another login, or forged. Nothing was sent, and this login can still succeed.
                objection = VaultError(
                    .tokenInvalid, "This address belongs to another sign-in.", underlying: error)
            }
        }
    }

    /// The limit is only for the wait: a login whose redirect came in time goes on.
    private func next(
        _ objection: VaultError?, until end: @escaping @Sendable () async throws -> Void
    ) async throws -> String {
        try await withThrowingTaskGroup(of: String.self) { group in
            group.addTask { try await redirect(objection) }
            group.addTask {
                try await end()
                throw VaultError(.cancelled, "The browser sent no answer within five minutes. Start the login again.")
            }
            defer { group.cancelAll() }
            guard let address = try await group.next() else { throw CancellationError() }
            return address
        }
    }

    func stop() async {}
}

extension Clock where Duration == Swift.Duration {
    /// Returns a function that waits for the end of a time that begins now.
    fileprivate func end(of time: Duration) -> @Sendable () async throws -> Void {
        let end = now.advanced(by: time)
        return { try await sleep(until: end, tolerance: nil) }
    }

    /// Returns a function that tells the rest of a time that begins now.
    fileprivate func countdown(of time: Duration) -> @Sendable () -> Duration {
        let end = now.advanced(by: time)
        return { now.duration(to: end) }
    }
}

/// A redirect URI on which this program listens itself (RFC 8252 section 7.3).
struct LoopbackRedirect {
    /// The port; nil for any free port.
    var port: Int?
    let host: String
    let path: String

    /// - Parameter redirectURI: nil for `http://127.0.0.1:PORT/callback` with a free port.
    /// - Returns: nil for any other redirect URI, which the app receives.
    init?(_ redirectURI: String?) throws {
        guard let redirectURI else {
            (port, host, path) = (nil, "127.0.0.1", "/callback")
            return
        }
        guard let parts = URLComponents(string: redirectURI), let scheme = parts.scheme?.lowercased() else {
            throw VaultError(
                .configurationInvalid, "The redirect URI is not a URL. Use a URL such as http://127.0.0.1/callback")
        }
        guard scheme == "http" else { return nil }
        guard let name = parts.host, ["127.0.0.1", "localhost"].contains(name) else {
            throw VaultError(.configurationInvalid, "A redirect URI with http must point to 127.0.0.1 or localhost.")
        }
        (port, host, path) = (parts.port, name, parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath)
    }

    func uri(port: Int) -> String { "http://\(host):\(port)\(path)" }
}

extension SignInContext {
    /// Returns a receiver for the redirect URI of the settings.
    ///
    /// - Parameter port: the port to listen on if the redirect URI has none; nil for any.
    package func receiver(for delivery: RedirectDelivery, port: Int? = nil) async throws -> any RedirectReceiver {
        var loopback = try LoopbackRedirect(settings.redirectURI)
        if case .pasted(let ask) = delivery {
            // No program listens at this address: only the address itself matters.
            let uri = settings.redirectURI.flatMap { loopback?.port == nil && loopback != nil ? nil : $0 }
            return HandedRedirectReceiver(
                redirectURI: uri ?? loopback?.uri(port: port ?? Int.random(in: Self.pastedPorts)) ?? "", redirect: ask)
        }
        if var redirect = loopback {
            redirect.port = redirect.port ?? port
            loopback = redirect
            return try await LoopbackReceiver(redirect, listening)
        }
        let redirectURI = settings.redirectURI ?? ""
        return HandedRedirectReceiver(redirectURI: redirectURI) { _ in
            // Any program can open a custom scheme. A forged redirect must not end the login, and nobody is there to
            // read an error. A browser may change the case of the scheme and the host.
            let start = redirectURI.lowercased()
            guard let url = await appRedirects.first(where: { $0.lowercased().hasPrefix(start) }) else {
                throw CancellationError()
            }
            return url
        }
    }

    /// The ports for a browser on another machine, if the settings name none. No thief can wait at such a random port.
    /// A provider accepts any port of a loopback address (RFC 8252 section 7.3).
    private static let pastedPorts = 49_152...65_535
}
