public import VaultUnlock

/// The devices of an account's owner, as the key service lists them.
///
/// ```swift
/// for device in try await session.devices.list() where !device.isThisDevice {
///     print(device.name ?? "unknown device", device.lastUsedAt ?? device.createdAt)
/// }
/// ```
///
/// Each call sends an access token to the key service: that proves who the owner is. The token is only for this service,
/// unless `VaultConfiguration.keyServiceAudience` says otherwise. Only unlock methods of protocol version 2 are listed.
///
/// Each call throws ``VaultError``, also with these codes:
/// - `notLoggedIn`: the session was locked. Log in again.
/// - `configurationInvalid`: the key service keeps no lists, does not accept the token, or the provider makes no token for
///   one service. The text says which.
/// - `keyServiceUnavailable`: try again later.
/// - the codes of ``Session/accessToken(forceRefresh:minimumValidity:)``.
public struct SessionDevices: Sendable {
    let session: Session

    /// Returns the devices, the oldest first. If this device is not on the list yet, it is added.
    ///
    /// The list has no device whose keys are all ended or revoked.
    public func list() async throws -> [AccountDevice] {
        let token = try await session.accessToken()
        return try await session.backend.devices(token)
    }

    /// Names a device.
    ///
    /// The name is sealed under the vault key of this account on this machine. So only this machine can read a name
    /// that it gave another device.
    ///
    /// - Parameters:
    ///   - device: a device of ``list()``.
    ///   - name: 1 to about 100 characters.
    /// - Throws: Also `deviceNotFound` if the device was revoked meanwhile: list the devices. `configurationInvalid`
    ///   for a name that is too long.
    public func rename(_ device: AccountDevice, to name: String) async throws {
        try await session.backend.rename(device, to: name, session.accessToken())
    }

    /// Ends all keys of a device for good. The next login there throws `deviceRevoked`. An open session there ends when
    /// it renews its tokens, but not in the first minute after its login. Unlock methods that need no key service stay
    /// until a login there is refused, or until a session that was opened with one of them gets a token from the
    /// provider. Those of this device are removed at once, if the key service proves the revocation.
    ///
    /// If the call throws, some keys may be ended: call it again.
    ///
    /// - Parameter device: a device of ``list()``, also this one.
    public func revoke(_ device: AccountDevice) async throws {
        try await session.backend.revoke(device, session.accessToken())
    }
}

extension Session {
    /// The devices of the account's owner, as the key service lists them.
    public nonisolated var devices: SessionDevices { SessionDevices(session: self) }
}
