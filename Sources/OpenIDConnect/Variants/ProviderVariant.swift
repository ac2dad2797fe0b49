package import VaultBase

/// The differences of one make of provider from the standards.
///
/// A conformer implements only the differences: the default of each hook is the standard. It must recognise its make
/// from the provider's metadata. It must not assume that all metadata was fetched: a refresh knows only the OpenID
/// Connect document.
package protocol ProviderVariant: Sendable {
    func isMake(of metadata: ProviderMetadata) -> Bool

    /// Returns the meaning of an error that means only "refused" in the standard.
    ///
    /// - Parameter error: the `error` member of the answer, if there is one.
    func meaning(of error: String?, to grant: OAuthClient.Grant) -> OpenIDConnectError.Code?

    /// Whether a status 400 without any text is the make's own answer for a dead grant. At other makes, a proxy may have
    /// sent it.
    var refusesDeadGrantsSilently: Bool { get }

    /// The make's own members for the registration of a client.
    var registrationMembers: [String: JSONValue] { get }

    /// Returns the grant types for the registration of a client, by the make's own names.
    func grantTypes(toRegister standard: [String]) -> [String]

    /// Returns the form that deletes a refresh token at the token endpoint; nil for none. It is for providers that do
    /// not let every client revoke tokens.
    func deletion(of refreshToken: String) -> ProviderConnection.Form?
}

extension ProviderVariant {
    package func meaning(of error: String?, to grant: OAuthClient.Grant) -> OpenIDConnectError.Code? { nil }
    package var refusesDeadGrantsSilently: Bool { false }
    package var registrationMembers: [String: JSONValue] { [:] }
    package func grantTypes(toRegister standard: [String]) -> [String] { standard }
    package func deletion(of refreshToken: String) -> ProviderConnection.Form? { nil }
}

extension ProviderMetadata: AuthorizationServer {
    /// All known makes. A new make needs a line here and a file beside this one.
    private static let variants: [any ProviderVariant] = [
        GlewlwydVariant()
    ]

    package var variant: (any ProviderVariant)? { Self.variants.first { $0.isMake(of: self) } }
}
