package import VaultJSON

/// Where one make of provider differs from the standards.
///
/// A conformer says only what is different: each hook has the standard's way as its default. It must recognise its make
/// from what the provider says about itself, and must not assume that all of that was fetched: of a refresh only the
/// OpenID Connect document is known.
package protocol ProviderVariant: Sendable {
    /// Whether a provider is of this make.
    func isMake(of metadata: ProviderMetadata) -> Bool

    /// What the token endpoint means by an error that says no more than "refused" in the standard.
    ///
    /// - Parameter error: the `error` member of the answer, if there is one.
    func meaning(of error: String?, to grant: OAuthClient.Grant) -> OpenIDConnectError.Code?

    /// Members of its own that the registration of a client needs.
    var registrationMembers: [String: JSONValue] { get }

    /// The grant types that a client asks for when it registers, in its own names.
    func grantTypes(toRegister standard: [String]) -> [String]

    /// The form that has the token endpoint delete a refresh token, where the provider does not let every client revoke
    /// tokens; nil for none.
    func deletion(of refreshToken: String) -> ProviderConnection.Form?
}

extension ProviderVariant {
    package func meaning(of error: String?, to grant: OAuthClient.Grant) -> OpenIDConnectError.Code? { nil }
    package var registrationMembers: [String: JSONValue] { [:] }
    package func grantTypes(toRegister standard: [String]) -> [String] { standard }
    package func deletion(of refreshToken: String) -> ProviderConnection.Form? { nil }
}

extension ProviderMetadata: AuthorizationServer {
    /// All that are known. A new one is a line here, and a file beside this one.
    private static let variants: [any ProviderVariant] = [
        GlewlwydVariant()
    ]

    package var variant: (any ProviderVariant)? { Self.variants.first { $0.isMake(of: self) } }
}
