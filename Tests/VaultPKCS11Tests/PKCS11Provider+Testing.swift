#if PKCS11
    import VaultPKCS11

    extension PKCS11Provider {
        /// Makes a provider with long time limits, for a machine that is busy with other tests.
        init(_ uri: String, newKey: PKCS11KeyKind? = nil) {
            self.init(uri: uri, newKey: newKey, timeLimit: .seconds(120))
        }
    }
#endif
