internal import Foundation
internal import OpenIDConnect
package import VaultHTTP
public import VaultStorage

/// How the browser's redirect comes back to this program.
public enum RedirectDelivery: Sendable {
    /// To a port of this machine that the program listens on, or with a redirect URI of the app's own by
    /// ``Auth/handleRedirect(url:)``.
    case automatic
    /// The person copies the address that the browser ends at, from any machine. The closure asks for it, and is called
    /// again, with what was wrong, when the address belongs to another login.
    case pasted(@Sendable (_ objection: VaultError?) async throws -> String)

    /// Whether the address to open goes to another machine, which takes time.
    var isPasted: Bool { if case .pasted = self { true } else { false } }
}

/// How long the person may take in the browser.
private let patience = Duration.seconds(300)

/// Waits for the redirect that ends a login in the browser (RFC 8252 section 7).
package protocol RedirectReceiver: Sendable {
    /// Where the browser is to be sent, exactly as the provider is told.
    var redirectURI: String { get }

    /// Hands the redirect (its URL, or path and query) to `finish`, and shows the person how that went.
    func receive<R: Sendable>(_ finish: @Sendable (String) async throws -> R) async throws -> R

    /// Stops waiting.
    func stop() async

    /// Calls `tell` for each connection that is refused, until the task is cancelled.
    func watch(_ tell: @Sendable (RefusedConnection) async -> Void) async
}

extension RedirectReceiver {
    package func watch(_ tell: @Sendable (RefusedConnection) async -> Void) async {}

    /// Shows `url` to the person while `finish` waits for the redirect. Whichever of the two fails first ends both.
    package func finish<R: Sendable>(
        opening url: String, with userAgent: any UserAgent, _ finish: @escaping @Sendable (String) async throws -> R
    ) async throws -> R {
        do {
            let result = try await withThrowingTaskGroup(of: R?.self) { group in
                group.addTask {
                    try await userAgent.open(url)
                    return nil
                }
                group.addTask { try await receive(finish) }
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

/// A redirect to a port of this machine.
struct LoopbackReceiver: RedirectReceiver {
    let redirectURI: String
    private let listener: any RedirectListener
    /// For the person's five minutes.
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
                "The redirect address on port \(redirect.port ?? 0) cannot be used: \(error) Close the program that has it, or choose another redirect URI.",
                underlying: error)
        }
        redirectURI = redirect.uri(port: listener.port)
    }

    func receive<R: Sendable>(_ finish: @Sendable (String) async throws -> R) async throws -> R {
        let timeLeft = clock.countdown(of: patience)
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

    /// Each user once, and not for ever: another user could fill the person's terminal.
    func watch(_ tell: @Sendable (RefusedConnection) async -> Void) async {
        var known: Set<RefusedConnection> = []
        for await connection in listener.refused where known.count < 3 && known.insert(connection).inserted {
            await tell(connection)
        }
    }
}

/// A redirect that the app receives, or that the person copies.
struct HandedRedirectReceiver: RedirectReceiver {
    let redirectURI: String
    /// For the person's five minutes.
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
        let end = clock.end(of: patience)
        var objection: VaultError?
        while true {
            let address = try await next(objection, until: end)
            do {
                return try await finish(address)
            } catch let error as OpenIDConnectError where error.code == .stateMismatch {
                // Of another login, or forged: nothing was sent, and this login can still end well.
                objection = VaultError(
                    .tokenInvalid, "That address belongs to another sign-in than this one.", underlying: error)
            }
        }
    }

    /// Only the wait has an end: a login whose redirect came in time is not cut off.
    private func next(
        _ objection: VaultError?, until end: @escaping @Sendable () async throws -> Void
    ) async throws -> String {
        try await withThrowingTaskGroup(of: String.self) { group in
            group.addTask { try await redirect(objection) }
            group.addTask {
                try await end()
                throw VaultError(.cancelled, "The browser did not come back within five minutes. Start again.")
            }
            defer { group.cancelAll() }
            guard let address = try await group.next() else { throw CancellationError() }
            return address
        }
    }

    func stop() async {}
}

extension Clock where Duration == Swift.Duration {
    /// Waits for the end of a time that begins now.
    fileprivate func end(of time: Duration) -> @Sendable () async throws -> Void {
        let end = now.advanced(by: time)
        return { try await sleep(until: end, tolerance: nil) }
    }

    /// What is left of a time that begins now.
    fileprivate func countdown(of time: Duration) -> @Sendable () -> Duration {
        let end = now.advanced(by: time)
        return { now.duration(to: end) }
    }
}

/// A redirect URI that this program listens on itself (RFC 8252 section 7.3).
struct LoopbackRedirect {
    /// nil for any free port.
    var port: Int?
    let host: String
    let path: String

    /// - Parameter redirectURI: nil for `http://127.0.0.1:PORT/callback` with a free port.
    /// - Returns: nil for a redirect URI of another kind, which the app receives.
    init?(_ redirectURI: String?) throws {
        guard let redirectURI else {
            (port, host, path) = (nil, "127.0.0.1", "/callback")
            return
        }
        guard let parts = URLComponents(string: redirectURI), let scheme = parts.scheme?.lowercased() else {
            throw VaultError(.configurationInvalid, "The redirect URI is not a URL.")
        }
        guard scheme == "http" else { return nil }
        guard let name = parts.host, ["127.0.0.1", "localhost"].contains(name) else {
            throw VaultError(.configurationInvalid, "A redirect URI with http has to point to 127.0.0.1 or localhost.")
        }
        (port, host, path) = (parts.port, name, parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath)
    }

    func uri(port: Int) -> String { "http://\(host):\(port)\(path)" }
}

extension SignInContext {
    /// A receiver for the redirect URI of the settings.
    ///
    /// - Parameter port: the port to listen on where the redirect URI leaves it open; nil for any.
    package func receiver(for delivery: RedirectDelivery, port: Int? = nil) async throws -> any RedirectReceiver {
        var loopback = try LoopbackRedirect(settings.redirectURI)
        if case .pasted(let ask) = delivery {
            // The browser finds nothing there: it is the address that counts.
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
            // Any program can open a custom scheme: one that was forged must not end the login, and nobody is there to
            // be told. A browser may change the case of the scheme and the host.
            let start = redirectURI.lowercased()
            guard let url = await appRedirects.first(where: { $0.lowercased().hasPrefix(start) }) else {
                throw CancellationError()
            }
            return url
        }
    }

    /// Where a browser on another machine is sent when nothing else is said: nobody can lie in wait there. A provider
    /// takes any port of a loopback address (RFC 8252 section 7.3), as it has to when this program listens.
    private static let pastedPorts = 49_152...65_535
}
