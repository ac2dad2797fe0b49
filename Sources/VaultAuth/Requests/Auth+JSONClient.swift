public import VaultHTTP
public import VaultStorage

extension AuthProtocol {
    /// Returns a client for a JSON API. Each request has the access token of the person who is logged in at that
    /// moment. Only the API's origin gets the token.
    ///
    /// - Warning: After another person's login, the same client sends that person's token. Use
    ///   ``Session/authorizedTransport(baseURL:over:)``, which belongs to one person. Use this one for a login that is
    ///   not stored yet, or in an app that only one person uses.
    ///
    /// - Parameters:
    ///   - baseURL: the URL of the API.
    ///   - login: a login that is not stored yet; nil for the account that is logged in.
    ///   - base: the transport of the requests; nil for the vault's own.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if the base URL is not valid, or is plain `http:` to
    ///   another machine: correct the URL.
    public func authorizedTransport(
        baseURL: String, as login: SignInResult? = nil, over base: (any HTTPTransport)? = nil
    ) throws -> JSONClient {
        try JSONClient(api: baseURL, over: authorizedTransport(for: [baseURL], as: login, over: base))
    }
}

extension JSONClient {
    /// - Throws: ``VaultError`` with code `configurationInvalid` if the base URL is not valid.
    init(api baseURL: String, over transport: any HTTPTransport) throws {
        do {
            try self.init(baseURL: baseURL, over: transport)
        } catch {
            throw VaultError(
                .configurationInvalid,
                "\(BaseURL.withoutUser(baseURL)) is not a valid base URL of an API. Use a URL such as https://api.example.com",
                underlying: error)
        }
    }
}
