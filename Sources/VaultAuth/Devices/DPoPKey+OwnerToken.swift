package import KeyServiceClient
package import OpenIDConnect
package import VaultBase

extension DPoPKey {
    /// Returns the maker of proofs for requests to a key service with a bound access token.
    package func proof(ofOwnerToken token: String, clock: any WallClock) -> OwnerToken.Proof {
        { [self] method, url, nonce in
            try proof(method: method, url: url, accessToken: token, nonce: nonce, at: clock.now)
        }
    }
}
