internal import FoundationEssentials

/// The person's side of signing in a device (RFC 8628 section 3.3): the code, the login, the confirmation.
extension AuthorizationServer {
    enum DeviceStep {
        case code(String, problem: String?)
        case login(request: String, Device, username: String, problem: String?)
        case confirmation(request: String, Device, username: String)
        case done(String)
        case refuse(String)
    }

    func showDevicePage(_ query: FormParameters?) -> DeviceStep {
        log(.init(.devicePage, .ok))
        return .code(query?["user_code"] ?? "", problem: nil)
    }

    /// Handles one of the page's forms.
    func continueDevice(_ form: FormParameters?) -> DeviceStep {
        forgetExpired()
        if let userCode = form?["user_code"] { return enter(userCode) }
        guard let identifier = form?["request"] ?? form?["confirmation"], let visit = deviceVisits[identifier],
            let device = devices[visit.deviceCode], case .none = device.decision
        else {
            log(.init(.devicePage, .init(rawValue: "unknown_request")))
            return .refuse("This page is already used or expired. Start again on the device.")
        }
        if form?["action"] == "deny" {
            deviceVisits[identifier] = nil
            devices[visit.deviceCode]?.decision = .denied
            log(.init(.devicePage, .denied, username: visit.username, clientID: device.client.identifier))
            return .done("The device was not connected.")
        }
        guard let username = visit.username, let date = visit.authenticatedAt else {
            return login(form, identifier: identifier, device: device)
        }
        guard form?["action"] == "allow" else { return .confirmation(request: identifier, device, username: username) }
        deviceVisits[identifier] = nil
        devices[visit.deviceCode]?.decision = .approved(username: username, at: date)
        log(.init(.devicePage, .ok, username: username, clientID: device.client.identifier))
        return .done("The device is connected. You can close this page.")
    }

    /// Handles a typed code, in upper or lower case, with or without the dash (section 6.1).
    private func enter(_ userCode: String) -> DeviceStep {
        let letters = userCode.uppercased().filter(\.isLetter)
        let now = options.now()
        let match = devices.first {
            guard case .none = $0.value.decision else { return false }
            return $0.value.userCode.filter(\.isLetter) == letters && $0.value.expiresAt > now
        }
        guard let match else {
            log(.init(.devicePage, .unknownUserCode))
            return .code(userCode, problem: "No device has this code, or it has expired.")
        }
        let identifier = randomIdentifier()
        deviceVisits[identifier] = DeviceVisit(deviceCode: match.key)
        log(.init(.devicePage, .ok, clientID: match.value.client.identifier))
        return .login(request: identifier, match.value, username: "", problem: nil)
    }

    private func login(_ form: FormParameters?, identifier: String, device: Device) -> DeviceStep {
        guard let user = options.user(loggingInWith: form) else {
            log(.init(.devicePage, .wrongPassword, clientID: device.client.identifier))
            return .login(
                request: identifier, device, username: form?["username"] ?? "",
                problem: "The username or the password is wrong.")
        }
        deviceVisits[identifier]?.username = user.username
        deviceVisits[identifier]?.authenticatedAt = options.now()
        log(.init(.devicePage, .ok, username: user.username, clientID: device.client.identifier))
        return .confirmation(request: identifier, device, username: user.username)
    }
}
