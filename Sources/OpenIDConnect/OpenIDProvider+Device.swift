internal import FoundationEssentials
internal import HTTPTypes
internal import VaultHTTP
internal import VaultJSON

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
        guard let url = metadata.deviceAuthorizationEndpoint else {
            throw OpenIDConnectError(.unsupported, "signing in on another device")
        }
        let (form, fields) = try client.applied(
            to: [("scope", scopes.joined(separator: " "))] + parameters.form.filter { $0 != ("prompt", "none") },
            metadata: metadata)
        let answer: HTTPAnswer
        do {
            answer = try await connection.post(url, form: form, fields: fields)
        } catch let error as OpenIDConnectError {
            throw error.processed(false)  // Nobody has signed in yet, and nothing is used up.
        }
        guard (200..<300).contains(answer.status.code) else {
            if let outage = ProviderConnection.outage(answer.status.code) { throw outage.processed(false) }
            throw ProviderConnection.refusal(answer, sent: client.revealing(form, fields))
        }
        guard let json = JSONValue(objectIn: answer.body) else {
            throw OpenIDConnectError(.invalidAnswer, "the device authorization is not JSON", status: answer.status.code)
        }
        return try DeviceAuthorization(answer: json, metadata: metadata, dpopKey: newDPoPKey(metadata))
    }

    /// Waits until the person has signed in on the other device, and gets the tokens (RFC 8628 section 3.4).
    ///
    /// It asks as often as the provider allows. A poll that gets lost, or meets a provider that is down, is repeated
    /// after a longer and longer time. An error that the provider names ends the wait (section 3.5), but for
    /// `authorization_pending` and `slow_down`. Cancelling the task ends the wait at once.
    ///
    /// - Parameter clock: what the waiting is counted on.
    /// - Returns: tokens with a verified ID token.
    /// - Throws: ``OpenIDConnectError``: `denied` when the person said no, `deviceCodeExpired` when the time ran out, or
    ///   any other code. With `deviceCodeExpired` and `mayHaveBeenProcessed` the answer that had the tokens got lost on its way:
    ///   the person did sign in, but the code is used up. After any of them start over.
    public func redeem(
        _ device: DeviceAuthorization, clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> TokenSet {
        let answer = try await poll(device, clock: clock)
        return try await completed(answer, dpopKey: device.dpopKey, expecting: .signInWithoutNonce)
    }

    private func poll<C: Clock>(
        _ device: DeviceAuthorization, clock: C
    ) async throws -> TokenEndpoint.Answer where C.Duration == Duration {
        let deadline = clock.now.advanced(by: device.expiresIn)
        var pace = PollingPace(interval: device.interval)
        // A poll whose answer did not arrive: it may have been the one with the tokens.
        var lost: OpenIDConnectError?

        func expired(_ error: OpenIDConnectError? = nil) -> OpenIDConnectError {
            OpenIDConnectError(
                .deviceCodeExpired,
                lost == nil
                    ? "the code was not entered in time"
                    : "an answer got lost on its way, perhaps the one with the tokens, and the code does not work any more",
                status: error?.status, providerError: error?.providerError, mayHaveBeenProcessed: lost != nil,
                underlying: lost)
        }
        while true {
            guard clock.now.advanced(by: pace.delay) <= deadline else { throw expired() }
            do {
                try await clock.sleep(for: pace.delay)
            } catch {
                throw OpenIDConnectError(.cancelled, "", mayHaveBeenProcessed: lost != nil, underlying: error)
            }
            do {
                return try await endpoint.redeem(
                    .deviceCode(device.deviceCode), metadata: device.metadata, dpopKey: device.dpopKey)
            } catch let error as OpenIDConnectError {
                switch (error.code, error.providerError) {
                case (_, "authorization_pending"):
                    pace.continues()
                    lost = nil  // Nobody has signed in yet, so nothing was lost.
                case (_, "slow_down"):
                    pace.slowsDown()
                    lost = nil
                case (.deviceCodeExpired, _): throw expired(error)
                case (.unavailable, nil), (.timedOut, nil), (.interrupted, nil):
                    pace.backsOff()
                    if error.mayHaveBeenProcessed { lost = error }
                default: throw error
                }
            }
        }
    }
}

/// How long to wait between two polls (RFC 8628 section 3.5).
struct PollingPace {
    private(set) var interval: Duration
    private var failures = 0

    init(interval: Duration) {
        self.interval = interval
    }

    /// Twice as long after each failure in a row, up to a minute or the interval.
    var delay: Duration {
        failures == 0 ? interval : min(interval * (1 << min(failures, 10)), max(interval, .seconds(60)))
    }

    mutating func continues() { failures = 0 }

    /// By 5 seconds, for this poll and all that follow.
    mutating func slowsDown() {
        failures = 0
        interval += .seconds(5)
    }

    mutating func backsOff() { failures += 1 }
}
