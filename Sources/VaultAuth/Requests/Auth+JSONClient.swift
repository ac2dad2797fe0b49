public import VaultHTTP
public import VaultStorage

extension AuthProtocol {
    /// Returns a client for a JSON API that calls it for the person who is logged in. Only the API's origin gets the
    /// access token.
    ///
    /// ```swift
    /// let api = try vault.auth.authorizedTransport(baseURL: "https://api.example.com/v1")
    /// let note = try await api.get("notes/7", as: Note.self)
    /// try await api.post("notes", Note(text: "bandage"))
    /// ```
    ///
    /// - Parameters:
    ///   - baseURL: the URL of the API.
    ///   - login: a login that is not stored yet; nil for the account that is logged in.
    ///   - base: the transport of the requests; nil for the vault's own.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if the base URL is not valid, or is plain `http:` to
    ///   another machine: correct the URL.
    public func authorizedTransport(
        baseURL: String, as login: RefreshToken? = nil, over base: (any HTTPTransport)? = nil
    ) throws -> JSONClient {
        let transport = try authorizedTransport(for: [baseURL], as: login, over: base)
        do {
            return try JSONClient(baseURL: baseURL, over: transport)
        } catch {
            throw VaultError(
                .configurationInvalid,
                "\(BaseURL.withoutUser(baseURL)) is not a valid base URL of an API. Use a URL such as https://api.example.com",
                underlying: error)
        }
    }
}
