/// A secret that several holders share by reference, for closures and types that are copied. It is wiped when the last
/// of them lets go.
public final class SharedSecret: Sendable {
    /// The secret.
    public let bytes: SecretBytes

    public init(_ bytes: consuming SecretBytes) {
        self.bytes = bytes
    }
}
