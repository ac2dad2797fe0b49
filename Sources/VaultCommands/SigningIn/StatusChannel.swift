internal import CredentialVault
internal import Foundation

/// `--status-fd`: tells a program each step of a sign-in at once, as one line of JSON. Standard output has only the
/// result, and standard error is for a person.
struct StatusChannel: Sendable {
    private let descriptor: Int32?

    /// - Throws: `VaultError` with code `configurationInvalid` if the descriptor is not open for writing.
    init(_ descriptor: Int32?) throws {
        self.descriptor = descriptor
        guard let descriptor else { return }
        let flags = fcntl(descriptor, F_GETFL)
        // A descriptor that this program opened is always close-on-exec. An inherited descriptor never is.
        guard flags >= 0, flags & O_ACCMODE != O_RDONLY, fcntl(descriptor, F_GETFD) & FD_CLOEXEC == 0 else {
            throw VaultError(.configurationInvalid, "The descriptor \(descriptor) is not open for writing.")
        }
    }

    /// A step of the sign-in. The member `event` has its name.
    enum Event: Encodable {
        /// The person has to open this address, or the browser was told to.
        case authorization(url: String)
        /// The person has to enter a code on another device (RFC 8628 section 3.2).
        case device(DeviceAuthorization, expiresAt: Date)
        /// The person has signed in, and the password of the vault comes next.
        case signedIn(AccountID)

        private enum Key: String, CodingKey {
            case event, url, userCode, verificationUri, verificationUriComplete, expiresAt, subject, issuer
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            switch self {
            case .authorization(let url):
                try members.encode("authorization", forKey: .event)
                try members.encode(url, forKey: .url)
            case .device(let device, let end):
                try members.encode("device", forKey: .event)
                try members.encode(device.userCode, forKey: .userCode)
                try members.encode(device.verificationURI, forKey: .verificationUri)
                try members.encodeIfPresent(device.verificationURIComplete, forKey: .verificationUriComplete)
                try members.encode(end, forKey: .expiresAt)
            case .signedIn(let id):
                try members.encode("signed_in", forKey: .event)
                try members.encode(id.subject, forKey: .subject)
                try members.encode(id.issuer, forKey: .issuer)
            }
        }
    }

    func tell(_ event: Event) {
        guard let descriptor else { return }
        Output.jsonLine(event, to: descriptor)
    }
}
