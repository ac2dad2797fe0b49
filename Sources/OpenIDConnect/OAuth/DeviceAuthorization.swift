internal import VaultBase

/// A sign-in without a browser on this machine (RFC 8628 section 3.2). The person enters a code on another device.
///
/// The device code in it is a secret, and is not printed.
public struct DeviceAuthorization: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The code that the person enters: 1 to 64 printable ASCII characters.
    public let userCode: String
    /// The address where the person enters the code.
    public let verificationURI: String
    /// The same address with the code in it, for a QR code; nil if the provider sent none.
    public let verificationURIComplete: String?
    /// The time in which the person must sign in.
    public let expiresIn: Duration
    /// The wait between two polls.
    public let interval: Duration
    let deviceCode: String
    /// The server as it was when the sign-in started. The sign-in ends at the same one.
    let server: any AuthorizationServer
    /// The key that the tokens will be bound to; nil for none.
    let dpopKey: DPoPKey?

    package static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    /// Reads the answer of the device authorization endpoint.
    ///
    /// - Parameter insecureOrigin: the origin on the local network that may also be called by plain `http`; nil for
    ///   none.
    init(answer: JSONValue, server: any AuthorizationServer, dpopKey: DPoPKey?, insecureOrigin: String?) throws {
        func invalid(_ reason: String) -> OpenIDConnectError {
            OpenIDConnectError(.invalidAnswer, "the device authorization \(reason)")
        }
        func text(_ name: String, atMost count: Int) -> String? {
            guard let text = answer[name]?.string, (1...count).contains(text.utf8.count),
                text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else { return nil }
            return text
        }
        guard let deviceCode = text("device_code", atMost: 4096) else { throw invalid("has no device code") }
        guard let userCode = text("user_code", atMost: 64) else { throw invalid("has no user code") }
        // The second name comes from a draft of the RFC. Large providers still use it.
        guard let address = answer["verification_uri"]?.string ?? answer["verification_url"]?.string,
            EndpointURL.isAllowed(address, by: server.issuer, insecureOrigin: insecureOrigin)
        else { throw invalid("has no https address for the person") }
        self.deviceCode = deviceCode
        self.userCode = userCode
        self.server = server
        self.dpopKey = dpopKey
        verificationURI = address
        verificationURIComplete = answer["verification_uri_complete"]?.string.flatMap {
            EndpointURL.isAllowed($0, by: server.issuer, insecureOrigin: insecureOrigin) ? $0 : nil
        }
        // Ten minutes if there is no sensible number. The provider says when the time is over.
        expiresIn = Self.seconds(answer["expires_in"], in: 1...86_400) ?? .seconds(600)
        interval = Self.seconds(answer["interval"], in: 1...3600) ?? .seconds(5)
    }

    /// Reads a number of seconds, also in quotes, and limits it to a range. Returns nil unless it is above zero.
    private static func seconds(_ value: JSONValue?, in range: ClosedRange<Double>) -> Duration? {
        guard let seconds = Lifetime.seconds(value), seconds > 0 else { return nil }
        return .seconds(min(max(seconds, range.lowerBound), range.upperBound))
    }

    public var description: String { "DeviceAuthorization(\(verificationURI))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["verificationURI": verificationURI]) }
}
