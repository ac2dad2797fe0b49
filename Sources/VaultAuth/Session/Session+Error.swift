public import VaultStorage

extension Session: OpenedSession {}

extension Session: CustomReflectable {
    public nonisolated var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

extension VaultError {
    /// The session of the account that this failed login opened; nil if it opened no account.
    ///
    /// A login opens the account before it asks the provider for a token. So if only the provider fails, the account is
    /// open, and its items can be read. Use this session and not `auth.session`, which may be another person's.
    ///
    /// ```swift
    /// do {
    ///     session = try await vault.auth.login(account, with: method)
    /// } catch let error as VaultError {
    ///     guard let opened = error.openedSession else { throw error }
    ///     session = opened        // without a token from the provider
    /// }
    /// ```
    public var openedSession: Session? { opened as? Session }

    /// Returns the error of a login that opened an account, for an app's own ``AuthProtocol``.
    ///
    /// - Parameter session: the value of ``openedSession``.
    public func opening(_ session: Session) -> VaultError { opening(session as any OpenedSession) }
}
