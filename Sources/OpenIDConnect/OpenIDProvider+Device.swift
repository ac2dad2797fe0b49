extension OpenIDProvider {
    /// Starts a sign-in that the person completes on another device (RFC 8628 section 3.1).
    ///
    /// - Parameters:
    ///   - scopes: `openid` must be among them.
    ///   - parameters: more parameters for the request. A provider ignores unknown ones (section 3.1). A `prompt` of
    ///     `none` is left out, as the person could not sign in on the other device.
    /// - Throws: ``OpenIDConnectError``: those of ``metadata()``, `unsupported` if the provider has no device code,
    ///   `refused` if it refuses it to this client, `configurationInvalid` for a parameter that is not allowed.
    public func authorizeDevice(
        scopes: [String], parameters: SignInParameters = SignInParameters()
    ) async throws -> DeviceAuthorization {
        try Self.requireOpenID(scopes)
        try parameters.validate()
        let metadata = try await completeMetadata()
        return try await oauth.authorizeDevice(
            [("scope", scopes.joined(separator: " "))] + parameters.form.filter { $0 != ("prompt", "none") },
            at: metadata, dpopKey: newDPoPKey(metadata))
    }

    /// Waits until the person has signed in on the other device, and gets the tokens (RFC 8628 section 3.4).
    ///
    /// It polls as often as the provider allows. After a lost poll, or if the provider is down, it waits longer each
    /// time. An error code of the provider ends the wait (section 3.5), except `authorization_pending` and `slow_down`.
    /// Cancelling the task ends the wait at once.
    ///
    /// - Parameters:
    ///   - device: the answer of ``authorizeDevice(scopes:parameters:)``.
    ///   - clock: the clock that counts the wait.
    /// - Returns: tokens with a verified ID token.
    /// - Throws: ``OpenIDConnectError``: `denied` if the person refused, `deviceCodeExpired` if the time ran out,
    ///   `refused`, `invalidAnswer`, `tokenInvalid`, `unsupported`, `configurationInvalid`, `unavailable`, `timedOut`,
    ///   `interrupted`, `cancelled`. `deviceCodeExpired` with `mayHaveBeenProcessed`: the person signed in, but the
    ///   answer with the tokens got lost and the code is used up. After any error start over.
    public func redeem(
        _ device: DeviceAuthorization, clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> TokenSet {
        let answer = try await oauth.redeem(device, clock: clock)
        return try await completed(answer, dpopKey: device.dpopKey, expecting: .signInWithoutNonce)
    }
}
