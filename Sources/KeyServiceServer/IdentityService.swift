internal import KeyServiceCore
internal import ServiceLifecycle

/// Reads the identity again once a second.
struct IdentityService: Service {
    private static let interval = Duration.seconds(1)

    let watch: IdentityWatch

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval)
                await watch.look()
            }
        }
    }
}
