internal import FoundationEssentials

/// The login with the browser: for the backend in front of an identity provider, and for OAuth clients.
extension BackendServer {
    /// A login page without an answer yet.
    struct PendingLogin {
        /// What happens after the login.
        enum Ending {
            /// The browser goes back to the app.
            case redirect
            /// The device with this device code is connected.
            case device(String)
            /// The page shows a new API token.
            case apiToken
        }

        /// The address of the app; empty if the login ends here.
        var redirectURI = ""
        var state: String?
        var expiresAt: Date
        /// The OAuth request; nil for the backend in front of an identity provider.
        var oauth: OAuthWish?
        var ending = Ending.redirect
    }

    struct OAuthWish {
        var client: OAuthClient
        var challenge: String
        var scope: [String]
    }

    struct Code {
        var login: PendingLogin
        var username: String
        var expiresAt: Date
    }

    /// Starts a login for an app without a protocol. The app gives only the address to go back to.
    func beginLogin(_ call: BackendCall) -> BackendAnswer {
        guard let redirectURI = call.query?["redirect_uri"],
            RedirectURI.isAllowed(redirectURI, besides: options.redirectURIs)
        else { return refusal("The redirect URI is missing, or is not allowed.", outcome: "invalid_redirect_uri") }
        // The state is the backend's own, as the backend is also the client of the identity provider.
        return show(
            PendingLogin(
                redirectURI: redirectURI, state: randomIdentifier(), expiresAt: options.now().addingTimeInterval(600)))
    }

    /// Shows the login page.
    func show(_ login: PendingLogin) -> BackendAnswer {
        let now = options.now()
        pendingLogins = pendingLogins.filter { $0.value.expiresAt > now }
        let identifier = randomIdentifier()
        pendingLogins[identifier] = login
        return page(identifier, login, username: "", problem: nil)
    }

    /// Handles the answer to the login page.
    func continueLogin(_ call: BackendCall) -> BackendAnswer {
        guard let identifier = call.form?["request"], let login = pendingLogins[identifier],
            login.expiresAt > options.now()
        else {
            return refusal(
                "This login page is already used or expired. Start again from the app.",
                outcome: "unknown_request")
        }
        if call.form?["action"] == "deny" {
            pendingLogins[identifier] = nil
            var answer = deny(login)
            answer.outcome = .denied
            return answer
        }
        guard let username = call.form?["username"], let user = users.first(where: { $0.username == username }),
            call.form?["password"] == user.password
        else {
            var answer = page(
                identifier, login, username: call.form?["username"] ?? "",
                problem: "The username or the password is wrong.")
            answer.status = 401
            answer.outcome = .wrongPassword
            return answer
        }
        pendingLogins[identifier] = nil
        var answer = finish(login, as: user)
        answer.username = user.username
        return answer
    }

    private func finish(_ login: PendingLogin, as user: User) -> BackendAnswer {
        switch login.ending {
        case .redirect:
            let code = randomIdentifier()
            codes[code] = Code(login: login, username: user.username, expiresAt: options.now().addingTimeInterval(60))
            return back(to: login, [("code", code)])
        case .device(let code):
            devices[code]?.decision = .allowed(username: user.username)
            return notice("The device is connected. You can close this page.")
        case .apiToken: return notice("Your API token", makeAPIToken(for: user))
        }
    }

    private func deny(_ login: PendingLogin) -> BackendAnswer {
        switch login.ending {
        case .redirect:
            guard let client = login.oauth?.client, !options.isLenient else {
                return back(to: login, [("error", "access_denied")])
            }
            // Readeck forgets the client then, and sends an empty code, too.
            clients[client.identifier] = nil
            return back(to: login, [("code", ""), ("error", "access_denied")])
        case .device(let code):
            devices[code]?.decision = .denied
            return notice("The device was not connected.")
        case .apiToken: return notice("No API token was made.")
        }
    }

    /// Takes a code, which works once, and only for its own client.
    func take(_ code: String?, redirectURI: String?, clientID: String?) -> Code? {
        guard let code, let found = codes.removeValue(forKey: code), found.expiresAt > options.now(),
            found.login.redirectURI == redirectURI, found.login.oauth?.client.identifier == clientID
        else { return nil }
        return found
    }

    // MARK: Answers

    func back(to login: PendingLogin, _ parameters: [(String, String)]) -> BackendAnswer {
        let all = parameters + (login.state.map { [("state", $0)] } ?? [])
        return BackendAnswer(status: 303, content: .redirect(RedirectURI.adding(all, to: login.redirectURI)))
    }

    func refusal(_ problem: String, outcome: String) -> BackendAnswer {
        BackendAnswer(
            status: 400, content: .page(LoginPage.refusal(problem), formTarget: "'none'"),
            outcome: .init(rawValue: outcome))
    }

    private func notice(_ title: String, _ text: String = "") -> BackendAnswer {
        BackendAnswer(content: .page(LoginPage.notice(title: title, text), formTarget: "'none'"))
    }

    private func page(
        _ identifier: String, _ login: PendingLogin, username: String, problem: String?
    ) -> BackendAnswer {
        let html = LoginPage.form(
            action: options.paths.loginPage, request: identifier, client: login.oauth?.client.name ?? "the app",
            scope: login.oauth?.scope ?? [], username: username, problem: problem)
        let target = login.redirectURI.isEmpty ? "'self'" : "'self' \(RedirectURI.origin(of: login.redirectURI))"
        return BackendAnswer(content: .page(html, formTarget: target))
    }
}
