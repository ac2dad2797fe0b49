public import VaultHTTP
public import VaultStorage

extension AuthProtocol {
    /// A JSON API, called in the name of the person who is logged in. The access token goes to the API's origin alone.
    ///
    /// ```swift
    /// let api = try vault.auth.authorizedTransport(baseURL: "https://api.example.com/v1")
    /// let note = try await api.get("notes/7", as: Note.self)
    /// try await api.post("notes", Note(text: "bandage"))
    /// ```
    ///
    /// - Parameters:
    ///   - baseURL: where the API is.
    ///   - login: a login that is not stored yet; nil for the account that is logged in.
    ///   - base: what carries the requests; nil for the vault's own transport.
    /// - Throws: ``VaultError`` with code `configurationInvalid` when the base URL is none, or plain `http:` to another
    ///   machine.
    public func authorizedTransport(
        baseURL: String, as login: RefreshToken? = nil, over base: (any HTTPTransport)? = nil
    ) throws -> JSONClient {
        let transport = try authorizedTransport(for: [baseURL], as: login, over: base)
        do {
            return try JSONClient(baseURL: baseURL, over: transport)
        } catch {
            throw VaultError(
                .configurationInvalid, "\(BaseURL.withoutUser(baseURL)) is no base URL of an API.", underlying: error)
        }
    }
}
