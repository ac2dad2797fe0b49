internal import HTTPTypes
internal import Hummingbird

/// The pages for the browser.
extension ProviderRoutes {
    func page(for step: AuthorizationServer.LoginStep) -> Response {
        switch step {
        case .redirect(let location): return .seeOther(location)
        case .refuse(let problem): return refusal(problem)
        case .form(let request, let authorization, let problem):
            let body = LoginPage.form(
                request: request, client: authorization.client.displayName, scope: authorization.scope,
                username: authorization.loginHint ?? "", problem: problem)
            return .page(
                problem == nil ? .ok : .unauthorized, body,
                formTarget: "'self' \(RedirectURI.origin(of: authorization.redirectURI))")
        }
    }

    func page(for step: AuthorizationServer.DeviceStep) -> Response {
        switch step {
        case .code(let userCode, let problem):
            return .page(
                problem == nil ? .ok : .badRequest, DevicePage.code(userCode, problem: problem), formTarget: "'self'")
        case .login(let request, let device, let username, let problem):
            let body = LoginPage.form(
                action: "/device", request: request, client: device.client.displayName, scope: device.scope,
                username: username, problem: problem)
            return .page(problem == nil ? .ok : .unauthorized, body, formTarget: "'self'")
        case .confirmation(let request, let device, let username):
            let body = DevicePage.confirmation(
                request: request, userCode: device.userCode, client: device.client.displayName, scope: device.scope,
                username: username)
            return .page(.ok, body, formTarget: "'self'")
        case .done(let title): return .page(.ok, LoginPage.notice(title: title), formTarget: "'none'")
        case .refuse(let problem): return refusal(problem)
        }
    }

    func page(for step: AuthorizationServer.LogoutStep) -> Response {
        switch step {
        case .redirect(let location): .seeOther(location)
        case .done: .page(.ok, LoginPage.notice(title: "You are signed out"), formTarget: "'none'")
        case .refuse(let problem):
            .page(
                .badRequest, LoginPage.notice(title: "Cannot sign out", alert: problem), formTarget: "'none'")
        }
    }

    private func refusal(_ problem: String) -> Response {
        .page(.badRequest, LoginPage.refusal(problem), formTarget: "'none'")
    }
}
