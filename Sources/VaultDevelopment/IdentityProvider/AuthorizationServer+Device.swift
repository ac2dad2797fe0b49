internal import FoundationEssentials

/// The sign-in of a device without a browser, with a browser elsewhere (RFC 8628).
extension AuthorizationServer {
    static let deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

    /// A device that waits for a person, by its device code.
    struct Device {
        enum Decision {
            case none, denied, used
            case approved(username: String, at: Date)
        }

        var client: Client
        var scope: [String]
        /// The code as it is shown.
        var userCode: String
        var expiresAt: Date
        /// The polling interval in seconds.
        var interval: Int
        var lastPoll: Date?
        var decision = Decision.none
    }

    /// A person's way from the code to the confirmation.
    struct DeviceVisit {
        var deviceCode: String
        var username: String?
        var authenticatedAt: Date?
    }

    private struct DeviceAuthorization: Encodable {
        var deviceCode: String
        var userCode: String
        var verificationUri: String
        var verificationUriComplete: String?
        var expiresIn: Int
        var interval: Int?
    }

    // MARK: The device's side

    /// Gives a device its codes (sections 3.1 and 3.2).
    /// - Returns: The JSON of the answer.
    func authorizeDevice(_ request: ClientRequest) throws -> Data {
        var entry = ProviderRequest(.deviceAuthorization, .ok)
        do {
            let client = try authenticate(request, entry: &entry)
            entry.parameters = request.form?.askedFor ?? [:]
            guard client.grantTypes.contains(Self.deviceGrant) else { throw OAuthError.unauthorizedClient }
            forgetExpired()
            let asked = (request.form?["scope"] ?? "").split(separator: " ").map(String.init)
            let deviceCode = randomIdentifier()
            let device = Device(
                client: client, scope: options.scopes.filter(asked.contains), userCode: newUserCode(),
                expiresAt: options.now().addingTimeInterval(Double(options.deviceCodeLifetime)),
                interval: options.devicePollingInterval ?? 5)
            devices[deviceCode] = device
            log(entry)
            let page = "\(issuer)/device"
            return try protocolJSON(
                DeviceAuthorization(
                    deviceCode: deviceCode, userCode: device.userCode, verificationUri: page,
                    verificationUriComplete: options.offersVerificationURIComplete
                        ? "\(page)?user_code=\(device.userCode)" : nil,
                    expiresIn: options.deviceCodeLifetime, interval: options.devicePollingInterval))
        } catch let error as OAuthError {
            entry.outcome = error.outcome
            log(entry)
            throw error
        }
    }

    /// Answers a device's poll for the person's decision (section 3.5).
    /// - Returns: The person who approved it and the time, once.
    func pollDevice(
        _ form: FormParameters, client: Client
    ) throws(OAuthError) -> (username: String, at: Date, scope: [String]) {
        guard let code = form["device_code"] else { throw .invalidRequest("device_code is missing.") }
        guard var device = devices[code], device.client.identifier == client.identifier else {
            throw .invalidGrant("The device code is not valid.")
        }
        let now = options.now()
        guard device.expiresAt > now else { throw OAuthError("expired_token", "The codes have expired. Start again.") }
        defer { devices[code] = device }
        switch device.decision {
        case .approved(let username, let date):
            device.decision = .used
            return (username, date, device.scope)
        case .denied: throw OAuthError("access_denied", "The person denied access.")
        case .used: throw .invalidGrant("The device code was used before.", outcome: .replayedCode)
        case .none: break
        }
        // The tenth of a second is for a client with a slightly faster clock.
        let isEarly = device.lastPoll.map { now.timeIntervalSince($0) < Double(device.interval) - 0.1 } ?? false
        device.lastPoll = now
        guard isEarly, options.enforcesPollingInterval else {
            throw OAuthError("authorization_pending", "Nobody has decided yet.")
        }
        device.interval += 5
        throw OAuthError("slow_down", "Wait \(device.interval) seconds between polls.")
    }

    /// Makes a code of eight consonants, which form no words (section 6.1), in two groups.
    private func newUserCode() -> String {
        let letters = Array("BCDFGHJKLMNPQRSTVWXZ")
        while true {
            let code = (0..<8).map { _ in letters[Int.random(in: 0..<letters.count)] }
            let text = "\(String(code.prefix(4)))-\(String(code.suffix(4)))"
            if !devices.values.contains(where: { $0.userCode == text }) { return text }
        }
    }
}
