package import VaultBase

extension BiometricError {
    /// The error for hardware whose library is not installed.
    package init(_ missing: MissingLibrary) {
        self.init(.unavailable, missing.description, underlying: missing)
    }
}
