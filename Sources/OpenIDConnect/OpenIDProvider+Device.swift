extension OpenIDProvider {
    /// Starts a sign-in that the person ends on another device (RFC 8628 section 3.1).
    ///
    /// - Parameters:
    ///   - scopes: `openid` must be among them.
    ///   - parameters: what else to ask for. A provider ignores what it does not know (section 3.1). A `prompt` of `none`
    ///     is left out: the person could not sign in on the other device.
    /// - Throws: ``OpenIDConnectError``: those of ``metadata()``, `unsupported` when the provider does not offer this,
    ///   `refused` when it does not offer it to this client, `configurationInvalid` for a parameter that cannot be set.
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
    /// It asks as often as the provider allows. A poll that gets lost, or meets a provider that is down, is repeated
    /// after a longer and longer time. An error that the provider names ends the wait (section 3.5), but for
    /// `authorization_pending` and `slow_down`. Cancelling the task ends the wait at once.
    ///
    /// - Parameters:
    ///   - device: the answer of ``authorizeDevice(scopes:parameters:)``.
    ///   - clock: what the waiting is counted on.
    /// - Returns: tokens with a verified ID token.
    /// - Throws: ``OpenIDConnectError``: `denied` when the person said no, `deviceCodeExpired` when the time ran out,
    ///   `refused`, `invalidAnswer`, `tokenInvalid`, `unsupported`, `configurationInvalid`, `unavailable`, `timedOut`,
    ///   `interrupted`, `cancelled`. With `deviceCodeExpired` and `mayHaveBeenProcessed` the answer that had the tokens
    ///   got lost on its way: the person did sign in, but the code is used up. After any of them start over.
    public func redeem(
        _ device: DeviceAuthorization, clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> TokenSet {
        let answer = try await oauth.redeem(device, clock: clock)
        return try await completed(answer, dpopKey: device.dpopKey, expecting: .signInWithoutNonce)
    }
}
