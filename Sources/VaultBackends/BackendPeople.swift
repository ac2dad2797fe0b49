internal import VaultAuth
public import VaultBase
internal import VaultCrypto
public import VaultHTTP
internal import VaultStorage

/// Sign-up and forgotten passwords at a backend with its own passwords. The backend's layout must name the paths.
public struct BackendPeople: Sendable {
    private let connection: BackendConnection
    private let layout: BackendLayout.Password
    private let clock: any WallClock

    /// - Parameters:
    ///   - url: the backend's base URL. It needs `https`, also on the local network.
    ///   - layout: the names of its paths and fields.
    ///   - transport: sends the requests.
    ///   - clock: tells the time.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if `url` is not the address of a backend.
    public init(
        _ url: String, layout: BackendLayout.Password, transport: any HTTPTransport,
        clock: any WallClock = SystemWallClock()
    ) throws {
        connection = BackendConnection(try ServerEndpoint(url), transport: transport)
        self.layout = layout
        self.clock = clock
    }

    /// Makes an account at the backend, without a sign-in: use ``PasswordSignIn`` next. Some backends want the e-mail
    /// address confirmed first.
    ///
    /// - Parameters:
    ///   - credentials: the e-mail address as the user name, and the password that the person chose.
    ///   - name: the full name, if the backend takes one.
    /// - Throws: ``VaultError``: `passwordUnusable` before a request (see ``BackendLayout/Password/check(_:)``),
    ///   `configurationInvalid` if the backend has no such call or refuses it, for example because the address is
    ///   taken. The description has the backend's words. `tooManyAttempts`, `identityProviderUnavailable`: try again
    ///   later.
    public func signUp(_ credentials: UserCredentials, name: String? = nil) async throws {
        let path = try path(layout.signUp, "sign-up", "signUp")
        let password = try layout.checked(credentials)
        var request = JSONValue([
            (layout.email, .string(credentials.username)), (layout.password, .string(password)),
        ])
        if let name, !layout.user.fullName.isEmpty { request.set(.string(name), at: layout.user.fullName) }
        let typed = ["{email}": credentials.username, "{password}": password, "{name}": name ?? ""]
        for (member, text) in layout.signUpDetails where name != nil || text != "{name}" {
            request.set(.string(typed[text] ?? text), at: member)
        }
        try await converting { [request] in
            try await connection.tell(path, json: request, secrets: [password], now: clock.now)
        }
    }

    /// Asks the backend to let a person choose another password. Most backends send an e-mail. Their answer for an
    /// unknown address is the same.
    ///
    /// - Throws: ``VaultError``: `passwordUnusable` for an empty address, `configurationInvalid` if the backend has no
    ///   such call or refuses it, `tooManyAttempts`, `identityProviderUnavailable`: try again later.
    public func requestNewPassword(email: String) async throws {
        let path = try path(layout.forgotPassword, "forgotten password", "forgotPassword")
        try PasswordInput.check(username: email)
        try await converting {
            try await connection.tell(
                path, json: JSONValue([(layout.email, .string(email))]), secrets: [], now: clock.now)
        }
    }

    private func path(_ path: String?, _ name: String, _ member: String) throws -> String {
        guard let path, !path.isEmpty else {
            throw VaultError(
                .configurationInvalid,
                "The layout of \(connection.endpoint) has no path for \(name). If the backend has one, add it to the "
                    + "backend file: {\"password\": {\"\(member)\": \"/PATH\"}}")
        }
        return path
    }
}

extension BackendLayout.Password {
    /// Checks credentials before they are sent to the backend.
    ///
    /// - Throws: ``VaultError`` with code `passwordUnusable`, which names the problem: e-mail address or password is
    ///   empty or blank, or the password is shorter than ``minimumPasswordLength``.
    public func check(_ credentials: UserCredentials) throws { _ = try checked(credentials) }

    func checked(_ credentials: UserCredentials) throws -> String {
        try credentials.checked(minimumPasswordLength: minimumPasswordLength)
    }
}

extension UserCredentials {
    /// Checks credentials before they are sent to any server.
    ///
    /// - Parameter minimumPasswordLength: in characters.
    /// - Throws: ``VaultError`` with code `passwordUnusable`, which names the problem.
    public func check(minimumPasswordLength: Int = 1) throws {
        _ = try checked(minimumPasswordLength: minimumPasswordLength)
    }

    func checked(minimumPasswordLength: Int) throws -> String {
        try PasswordInput.checked(
            username: username, password: password.bytes, minimumLength: minimumPasswordLength)
    }
}
