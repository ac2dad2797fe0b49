extension OAuthClient {
    /// Waits until the person has signed in on the other device, and gets the tokens (RFC 8628 section 3.4).
    package func redeem<C: Clock>(
        _ device: DeviceAuthorization, clock: C
    ) async throws -> TokenAnswer where C.Duration == Duration {
        let deadline = clock.now.advanced(by: device.expiresIn)
        var pace = PollingPace(interval: device.interval)
        // The error of a poll without an answer. The lost answer may have carried the tokens.
        var lost: OpenIDConnectError?

        func expired(_ error: OpenIDConnectError? = nil) -> OpenIDConnectError {
            OpenIDConnectError(
                .deviceCodeExpired,
                lost == nil
                    ? "the code was not entered in time"
                    : "an answer got lost, perhaps with the tokens in it. Start the sign-in again",
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
                return try await redeem(
                    .deviceCode(device.deviceCode), at: device.server, dpopKey: device.dpopKey)
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

/// The wait between two polls (RFC 8628 section 3.5).
struct PollingPace {
    private(set) var interval: Duration
    private var failures = 0

    init(interval: Duration) {
        self.interval = interval
    }

    /// The wait doubles with each failure in a row, up to a minute or the interval.
    var delay: Duration {
        failures == 0 ? interval : min(interval * (1 << min(failures, 10)), max(interval, .seconds(60)))
    }

    mutating func continues() { failures = 0 }

    /// Adds 5 seconds to the wait before this poll and all later ones.
    mutating func slowsDown() {
        failures = 0
        interval += .seconds(5)
    }

    mutating func backsOff() { failures += 1 }
}
