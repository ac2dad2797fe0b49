internal import ArgumentParser

/// `--method`: how `vault register` signs in.
enum WayIn: String, CaseIterable, ExpressibleByArgument {
    case browser
    case device
    case backend
    case password
    case passwordGrant = "password-grant"
    case server

    /// One line for `--help`.
    var help: String {
        switch self {
        case .browser: "at the OpenID provider, in the browser"
        case .device: "at the OpenID provider, with a code that is entered on another device"
        case .backend: "in the browser, at a backend that keeps the provider to itself"
        case .password: "with e-mail address and password, at a backend"
        case .passwordGrant: "with user name and password, at an OpenID provider that allows it"
        case .server: "at a server that says what it has: in the browser, or else with user name and password"
        }
    }

    /// Whether an OpenID provider is what the person signs in at.
    var isOpenID: Bool { [.browser, .device, .passwordGrant].contains(self) }
    /// Whether the person may have to type a password for somewhere else than the vault.
    var takesPassword: Bool { [.password, .passwordGrant, .server].contains(self) }
    /// Whether a redirect brings the answer.
    var takesRedirect: Bool { [.browser, .backend, .server].contains(self) }
}
