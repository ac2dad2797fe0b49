public import VaultHTTP

// Requests of an app in the name of one person. After the session was locked, or another login has replaced it, they
// fail, so that nothing is ever sent in another person's name.
extension Session {
    /// Makes a transport that sends requests with the access token of this session.
    ///
    /// - Parameters:
    ///   - origins: the servers that may get the access token, as URLs. Only scheme, host and port matter.
    ///   - leeway: a token that ends within this time is renewed before its use. 60 seconds by default.
    ///   - base: the transport of the requests; nil for the vault's own.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if an origin is not valid, or is plain `http:` to
    ///   another machine: correct the URL. Only the account's own server may have plain `http:`, if the person allowed
    ///   it: see `AccountID.usesInsecureHTTP`.
    public nonisolated func authorizedTransport(
        for origins: [String], leeway: Duration = .seconds(60), over base: (any HTTPTransport)? = nil
    ) throws -> any HTTPTransport {
        try AuthorizedTransport(
            for: origins, of: id, over: base ?? transport, leeway: leeway, clock: clock, logger: logger
        ) { .open(self) }
    }

    /// Returns a client for a JSON API that calls it with the access token of this session. Only the API's origin gets
    /// the token.
    ///
    /// ```swift
    /// let api = try session.authorizedTransport(baseURL: "https://api.example.com/v1")
    /// let note = try await api.get("notes/7", as: Note.self)
    /// try await api.post("notes", Note(text: "bandage"))
    /// ```
    ///
    /// - Parameters:
    ///   - baseURL: the URL of the API.
    ///   - base: the transport of the requests; nil for the vault's own.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if the base URL is not valid, or is plain `http:` to
    ///   another machine: correct the URL.
    public nonisolated func authorizedTransport(
        baseURL: String, over base: (any HTTPTransport)? = nil
    ) throws -> JSONClient {
        try JSONClient(api: baseURL, over: authorizedTransport(for: [baseURL], over: base))
    }
}
