/// A secret that several holders share by reference, for closures and copyable types. It is wiped when the last holder
/// releases it.
public final class SharedSecret: Sendable {
    /// The secret.
    public let bytes: SecretBytes

    /// Takes over a secret, to share it.
    ///
    /// - Parameter bytes: the secret. Nothing is copied.
    public init(_ bytes: consuming SecretBytes) {
        self.bytes = bytes
    }
}
