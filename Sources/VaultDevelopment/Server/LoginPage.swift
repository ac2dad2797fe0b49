/// The pages of a login. Every value in them is escaped.
enum LoginPage {
    /// Makes the login form.
    /// - Parameters:
    ///   - action: The path for its `POST`.
    ///   - request: The opaque name of the running login.
    ///   - client: The client's name for people.
    static func form(
        action: String = "/login", request: String, client: String, scope: [String], username: String, problem: String?
    ) -> String {
        Page.html(
            title: "Sign in",
            """
            <h1>Sign in</h1>
            <p class="lead">to continue to <strong>\(Page.escaped(client))</strong></p>
            \(alert(problem))
            <form method="post" action="\(Page.escaped(action))">
            <input type="hidden" name="request" value="\(Page.escaped(request))">
            <label for="username">Username</label>
            <input id="username" name="username" type="text" value="\(Page.escaped(username))" autocomplete="username" \
            autocapitalize="none" spellcheck="false" required\(username.isEmpty ? " autofocus" : "")>
            <label for="password">Password</label>
            <input id="password" name="password" type="password" autocomplete="current-password" required\
            \(username.isEmpty ? "" : " autofocus")>
            \(wishes(scope))
            <div class="buttons">
            <button id="login" type="submit" name="action" value="login">Sign in</button>
            <button id="deny" type="submit" name="action" value="deny" formnovalidate>Deny</button>
            </div>
            </form>
            """)
    }

    /// Makes a page for requests that cannot get a redirect.
    static func refusal(_ problem: String) -> String { notice(title: "Cannot sign in", alert: problem) }

    /// Makes a page that ends the login here.
    static func notice(title: String, _ text: String = "", alert problem: String? = nil) -> String {
        Page.html(
            title: title,
            """
            <h1>\(Page.escaped(title))</h1>
            \(text.isEmpty ? "" : #"<p class="lead">\#(Page.escaped(text))</p>"#)
            \(alert(problem))
            """)
    }

    /// Makes a paragraph with the problem; empty for nil.
    static func alert(_ problem: String?) -> String {
        problem.map { #"<p class="alert" role="alert">\#(Page.escaped($0))</p>"# } ?? ""
    }

    /// Makes a list of the things that the scopes allow.
    static func wishes(_ scope: [String]) -> String {
        guard !scope.isEmpty else { return "" }
        let items = scope.map { "<li>\(Page.escaped(wish($0)))</li>" }.joined()
        return #"<p class="wishes">The app will be able to:</p><ul>\#(items)</ul>"#
    }

    private static func wish(_ scope: String) -> String {
        switch scope {
        case "openid": "know who you are"
        case "profile": "see your name"
        case "email": "see your e-mail address"
        case "offline_access": "stay signed in"
        default: "use “\(scope)”"
        }
    }
}
