#if Networking
    internal import VaultBase
    internal import Foundation
    internal import KeyServiceCore
    internal import OpenIDConnect
    internal import VaultHTTP
    internal import VaultNetworking

    /// Checks access tokens with the keys of their identity provider, or asks the provider about them.
    struct OpenIDOwnerVerifier: OwnerVerifier {
        private let providers: [OpenIDProvider]
        private let audience: String?

        /// - Parameters:
        ///   - audience: the audience that a token must name; nil for any.
        ///   - clientID: the client that asks about opaque tokens; nil for none.
        init(issuers: [String], audience: String?, clientID: String?, clientSecret: String?) {
            let transport = AsyncHTTPTransport()
            providers = issuers.map {
                OpenIDProvider(
                    issuer: $0, clientID: clientID ?? "", clientSecret: clientSecret, usesDPoP: false,
                    transport: transport)
            }
            self.audience = audience
        }

        /// Whether a text can be an issuer identifier (OpenID Connect Discovery section 2). Without TLS, only a provider
        /// on this machine counts: the network could send other keys.
        static func isIssuer(_ text: String) -> Bool {
            guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty else { return false }
            return parts.scheme == "https" || parts.scheme == "http" && LoopbackAddress.isLoopback(host: host)
        }

        func owner(ofAccessToken token: String) async throws -> KeyOwner {
            // A signed token names its issuer. The issuer is not trusted: its own keys must verify the token.
            let named = JWT(token)?.issuer
            var isUnavailable = false
            for provider in providers where named == nil || named == provider.issuer {
                do {
                    let subject = try await provider.subject(ofAccessToken: token, audience: audience)
                    return KeyOwner(issuer: provider.issuer, subject: subject)
                } catch let error as OpenIDConnectError where error.code == .tokenInvalid || error.code == .unsupported
                {
                    continue
                } catch {
                    isUnavailable = true
                }
            }
            throw isUnavailable ? OwnerVerificationError.unavailable : .invalidToken
        }
    }
#endif
