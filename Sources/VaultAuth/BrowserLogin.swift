internal import Foundation
internal import OpenIDConnect
internal import VaultHTTP
internal import VaultStorage

/// One OpenID Connect login through a browser: authorization code with PKCE, and the redirect back to this program
/// (RFC 8252), either to a loopback port or, with any other redirect URI, handed over by the app.
struct BrowserLogin: Sendable {
    let provider: OpenIDProvider
    let issuer: String
    let clientID: String
    let scopes: [String]
    /// nil for a free loopback port.
    let redirectURI: String?
    let clock: any WallClock

    /// How long the person may take.
    static let patience = Duration.seconds(300)

    /// - Parameters:
    ///   - userAgent: shows the login.
    ///   - redirects: the redirect URLs that the app hands over.
    func run(using userAgent: any UserAgent, redirects: AsyncStream<String>) async throws -> RefreshToken {
        guard let loopback = try LoopbackRedirect(redirectURI) else {
            return try await authorize(redirectURI ?? "", userAgent) { request in
                guard let url = await redirects.first(where: { _ in true }) else { throw CancellationError() }
                return try await redeem(request, callback: url)
            }
        }
        let listener = try await listen(loopback)
        do {
            let uri = loopback.uri(port: listener.port)
            let token = try await authorize(uri, userAgent) { request in
                let callback = try await listener.waitForCallback(timeout: Self.patience)
                do {
                    let token = try await redeem(request, callback: callback.target)
                    await callback.respond(CallbackPage.success)
                    return token
                } catch {
                    let wasDenied = (error as? OpenIDConnectError)?.code == .denied
                    await callback.respond(wasDenied ? CallbackPage.denied : CallbackPage.failure)
                    throw error
                }
            }
            await listener.stop()
            return token
        } catch {
            await listener.stop()
            throw error
        }
    }

    private func listen(_ loopback: LoopbackRedirect) async throws -> LoopbackListener {
        do {
            return try await LoopbackListener.start(port: loopback.port ?? 0, path: loopback.path)
        } catch let error as LoopbackListenerError {
            throw VaultError(
                .configurationInvalid,
                "The redirect address on port \(loopback.port ?? 0) cannot be used: \(error) Close the program that has it, or choose another redirect URI.",
                underlying: error)
        }
    }

    /// Shows the login while `finish` waits for its result. Whichever of the two fails first ends both.
    private func authorize(
        _ redirectURI: String, _ userAgent: any UserAgent,
        finish: @escaping @Sendable (AuthorizationRequest) async throws -> RefreshToken
    ) async throws -> RefreshToken {
        let request = try await provider.authorizationRequest(redirectURI: redirectURI, scopes: scopes)
        return try await withThrowingTaskGroup(of: RefreshToken?.self) { group in
            group.addTask {
                try await userAgent.open(request.url)
                return nil
            }
            group.addTask { try await finish(request) }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let token = result { return token }
            }
            throw CancellationError()
        }
    }

    private func redeem(_ request: AuthorizationRequest, callback: String) async throws -> RefreshToken {
        let tokens = try await provider.redeem(request, callback: callback)
        guard let idToken = tokens.idToken else {
            throw VaultError(.tokenInvalid, "The identity provider sent no ID token.")
        }
        guard let refreshToken = tokens.refreshToken else {
            let granted = tokens.scope.map { " Granted was: \($0)." } ?? ""
            throw VaultError(
                .configurationInvalid,
                "The identity provider sent no refresh token. Asked was: \(scopes.joined(separator: " ")).\(granted) Most providers need the scope offline_access, and the client \(clientID) has to be allowed refresh tokens (grant type refresh_token)."
            )
        }
        return RefreshToken(
            value: refreshToken, account: AccountID(issuer: issuer, subject: idToken.subject), clientID: clientID,
            scope: tokens.scope,
            identity: .init(
                email: idToken.email, preferredUsername: idToken.preferredUsername, name: idToken.name,
                claimsJSON: idToken.claimsJSON),
            accessToken: AccessToken(
                value: tokens.accessToken, tokenType: tokens.tokenType, expiresAt: tokens.expiresAt,
                scope: tokens.scope, obtainedAt: clock.now))
    }
}

/// A redirect URI that this program listens on itself (RFC 8252 section 7.3).
struct LoopbackRedirect {
    /// nil for any free port.
    let port: Int?
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
