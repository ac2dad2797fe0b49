/// The pages on which a person connects a device (RFC 8628 section 3.3).
enum DevicePage {
    /// Makes the page for typing the code. A code from the address is shown, and must be confirmed.
    /// - Parameter action: The path for its `POST`.
    static func code(_ userCode: String, problem: String?, action: String = "/device") -> String {
        Page.html(
            title: "Connect a device",
            """
            <h1>Connect a device</h1>
            <p class="lead">Type in the code that your device shows.</p>
            \(LoginPage.alert(problem))
            <form method="post" action="\(Page.escaped(action))">
            <label for="user_code">Code</label>
            <input id="user_code" name="user_code" type="text" value="\(Page.escaped(userCode))" autocomplete="off" \
            autocapitalize="characters" spellcheck="false" required autofocus>
            <div class="buttons">
            <button id="continue" type="submit" name="action" value="continue">Continue</button>
            </div>
            </form>
            """)
    }

    /// Makes the question after the login: is this the person's device (section 5.4)?
    static func confirmation(
        request: String, userCode: String, client: String, scope: [String], username: String
    ) -> String {
        Page.html(
            title: "Connect this device?",
            """
            <h1>Connect this device?</h1>
            <p class="lead">It shows the code <strong>\(Page.escaped(userCode))</strong> and will be signed in to \
            <strong>\(Page.escaped(client))</strong> as <strong>\(Page.escaped(username))</strong>.</p>
            <form method="post" action="/device">
            <input type="hidden" name="confirmation" value="\(Page.escaped(request))">
            \(LoginPage.wishes(scope))
            <div class="buttons">
            <button id="allow" type="submit" name="action" value="allow">Connect</button>
            <button id="deny" type="submit" name="action" value="deny">Deny</button>
            </div>
            </form>
            """)
    }
}
