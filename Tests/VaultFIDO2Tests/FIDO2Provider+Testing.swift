#if FIDO2
    import VaultFIDO2

    extension FIDO2Provider {
        /// Makes a provider with long time limits, for a machine that is busy with other tests.
        init(
            _ port: SoftwarePort, _ others: SoftwarePort..., allowsTouchOnly: Bool = false,
            clock: any Clock<Duration> = ContinuousClock()
        ) {
            self.init(
                devices: SoftwarePorts(ports: [port] + others), allowsTouchOnly: allowsTouchOnly,
                timeLimit: .seconds(120), touchLimit: .seconds(120), clock: clock)
        }
    }
#endif
