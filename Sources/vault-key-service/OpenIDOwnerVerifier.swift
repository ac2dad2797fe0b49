#if Networking
    internal import VaultBase
    internal import Foundation
    internal import KeyServiceCore
    internal import OpenIDConnect
    internal import VaultHTTP
    internal import VaultNetworking

    /// Checks access tokens with the keys of their identity provider, or asks the provider about them.
    struct OpenIDOwnerVerifier: OwnerVerifier {
        /// The most seconds between the time of a proof and the present time.
        private static let proofTolerance: TimeInterval = 300

        private let providers: [OpenIDProvider]
        private let audience: String?
        private let publicURL: String?
        private let clock: any WallClock
        private let usedProofs: UsedProofs

        /// - Parameters:
        ///   - audience: the audience that a token must name; nil for any.
        ///   - publicURL: the base URL of this service for clients, without a slash at its end. A token that is bound
        ///     to a key (RFC 9449) needs a proof for this URL. Nil to refuse such tokens.
        ///   - clientID: the client that asks about opaque tokens; nil for none.
        init(
            issuers: [String], audience: String?, publicURL: String?, clientID: String?, clientSecret: String?,
            transport: any HTTPTransport = AsyncHTTPTransport(), clock: any WallClock = SystemWallClock()
        ) {
            providers = issuers.map {
                OpenIDProvider(
                    issuer: $0, clientID: clientID ?? "", clientSecret: clientSecret, usesDPoP: false,
                    transport: transport, clock: clock)
            }
            self.audience = audience
            self.publicURL = publicURL
            self.clock = clock
            usedProofs = UsedProofs(lifetime: .seconds(2 * Self.proofTolerance))
        }

        /// Whether a text can be an issuer identifier (OpenID Connect Discovery section 2). Without TLS, only a provider
        /// on this machine counts: the network could send other keys.
        static func isIssuer(_ text: String) -> Bool {
            guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty else { return false }
            return parts.scheme == "https" || parts.scheme == "http" && LoopbackAddress.isLoopback(host: host)
        }

        func owner(of presented: PresentedToken) async throws -> VerifiedOwner {
            let token = presented.token
            let proof = try presented.proof.map { try checked($0, of: presented) }
            // A signed token names its issuer. The issuer is not trusted: its own keys must verify the token.
            let named = JWT(token)?.issuer
            var isUnavailable = false
            for provider in providers where named == nil || named == provider.issuer {
                do {
                    let facts = try await provider.facts(
                        ofAccessToken: token, audience: audience, boundTo: proof?.thumbprint)
                    // Only now: nobody without a valid token can fill this memory.
                    let owner = KeyOwner(issuer: provider.issuer, subject: facts.subject)
                    if let proof { try usedProofs.use(proof.thumbprint + " " + proof.id, by: owner, at: .now) }
                    return VerifiedOwner(
                        owner,
                        authenticatedAt: facts.authenticatedAt.map { Int64($0.timeIntervalSince1970) })
                } catch let error as OwnerVerificationError {
                    throw error
                } catch let error as OpenIDConnectError where error.code == .tokenInvalid || error.code == .unsupported
                {
                    continue
                } catch {
                    isUnavailable = true
                }
            }
            throw isUnavailable ? OwnerVerificationError.unavailable : .invalidToken
        }

        /// Checks that a proof was made for the request.
        private func checked(_ text: String, of presented: PresentedToken) throws -> DPoPProof {
            guard let publicURL else { throw OwnerVerificationError.invalidToken }
            do {
                let proof = try DPoPProof(text)
                try proof.check(
                    method: "POST", url: publicURL + presented.path, accessToken: presented.token, at: clock.now,
                    within: Self.proofTolerance)
                return proof
            } catch {
                throw OwnerVerificationError.invalidProof
            }
        }
    }
#endif
