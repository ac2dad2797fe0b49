internal import FoundationEssentials

/// The sign-in of a device without a browser (RFC 8628).
extension BackendServer {
    /// A device that waits for a person.
    struct Device {
        enum Decision {
            case none, denied
            case allowed(username: String)
        }

        var client: OAuthClient
        var scope: [String]
        /// The code that the person types.
        var userCode: String
        var expiresAt: Date
        var lastPoll: Date?
        var decision = Decision.none
    }

    private struct DeviceAuthorization: Encodable {
        var deviceCode: String
        var userCode: String
        var verificationUri: String
        var verificationUriComplete: String
        var expiresIn: Int
        var interval: Int
    }

    // MARK: The device's side

    /// Gives a device its codes (section 3.2).
    func authorizeDevice(_ call: BackendCall) throws -> BackendAnswer {
        try requireOAuth()
        guard let form = call.form, form.repeated == nil else {
            throw BackendError.oauth("invalid_request", "The body is not a form.")
        }
        guard let client = client(form["client_id"]) else {
            throw BackendError.oauth("invalid_client", "The client is not known here.", status: 401)
        }
        guard client.grantTypes.contains(OAuthClientRequest.deviceGrant) else {
            throw BackendError.oauth("unauthorized_client", "The client did not register for device codes.")
        }
        guard let scope = granted(form["scope"]) else {
            throw BackendError.oauth("invalid_scope", "The scopes are missing, or one is not known.")
        }
        let code = randomIdentifier()
        let lifetime = 300
        let device = Device(
            client: client, scope: scope, userCode: newUserCode(),
            expiresAt: options.now().addingTimeInterval(Double(lifetime)))
        devices[code] = device
        let page = origin + options.paths.devicePage
        return try .json(
            DeviceAuthorization(
                deviceCode: code, userCode: device.userCode, verificationUri: page,
                verificationUriComplete: "\(page)?user_code=\(device.userCode)", expiresIn: lifetime,
                interval: options.devicePollingInterval))
    }

    /// Answers a device's poll (section 3.5).
    /// - Returns: The session of the person who connected the device.
    func pollDevice(_ code: String?, of client: OAuthClient) throws -> UUID {
        let now = options.now()
        guard let code, let device = devices[code], device.expiresAt > now,
            device.client.identifier == client.identifier
        else { throw BackendError.oauth("expired_token", "The codes have expired. Start again.") }
        switch device.decision {
        case .allowed(let username):
            devices[code] = nil
            return newSession(of: username, clientID: client.identifier, scope: device.scope)
        case .denied: throw BackendError.oauth("access_denied", "The person denied access.")
        case .none:
            // The tenth of a second is for a client with a slightly faster clock.
            let pause = Double(options.devicePollingInterval) - 0.1
            let isEarly = device.lastPoll.map { now.timeIntervalSince($0) < pause } ?? false
            devices[code]?.lastPoll = now
            throw isEarly
                ? BackendError.oauth("slow_down", "Wait longer between polls.")
                : BackendError.oauth("authorization_pending", "Nobody has decided yet.")
        }
    }

    /// Makes a code of eight consonants, which form no words (section 6.1).
    private func newUserCode() -> String {
        String((0..<8).map { _ in "BCDFGHJKLMNPQRSTVWXZ".randomElement() ?? "B" })
    }

    // MARK: The person's side

    /// Shows the page for the code, and takes the code from the address.
    func showDevicePage(_ call: BackendCall) throws -> BackendAnswer {
        try requireOAuth()
        return codePage(call.query?["user_code"] ?? "", problem: nil)
    }

    /// Handles a typed code, in upper or lower case, with or without dashes. The login comes next.
    func connectDevice(_ call: BackendCall) throws -> BackendAnswer {
        try requireOAuth()
        let typed = call.form?["user_code"] ?? ""
        let letters = typed.uppercased().filter(\.isLetter)
        let now = options.now()
        let match = devices.first {
            guard case .none = $0.value.decision else { return false }
            return $0.value.userCode == letters && $0.value.expiresAt > now
        }
        guard let match else {
            var answer = codePage(typed, problem: "No device has this code, or it has expired.")
            answer.status = 400
            answer.outcome = .unknownUserCode
            return answer
        }
        return show(
            PendingLogin(
                expiresAt: match.value.expiresAt,
                oauth: OAuthWish(client: match.value.client, challenge: "", scope: match.value.scope),
                ending: .device(match.key)))
    }

    private func codePage(_ userCode: String, problem: String?) -> BackendAnswer {
        let html = DevicePage.code(userCode, problem: problem, action: options.paths.devicePage)
        return BackendAnswer(content: .page(html, formTarget: "'self'"))
    }
}
