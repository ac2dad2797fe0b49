#if TPM2
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultTPM2

    extension TPM2Provider {
        /// Makes a provider with long time limits, for a machine that is busy with other tests.
        init(_ tcti: String, pcrs: [Int] = []) { self.init(tcti: tcti, pcrs: pcrs, timeLimit: .seconds(120)) }
    }

    extension SoftwareTPM {
        /// The number of commands that opening this takes.
        func commandsToOpen(_ protected: ProtectedSecret, pin: String) async throws -> Int {
            let proxy = try BusProxy(to: self)
            defer { proxy.stop() }
            _ = try await TPM2Provider(proxy.tcti).opened(protected, pin: pin)
            try #require(proxy.codes.count > 8)
            return proxy.codes.count
        }
    }
#endif
