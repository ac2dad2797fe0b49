import Dispatch
import HTTPTypes
import Hummingbird
import Logging
import Testing
import VaultBase

@testable import KeyServiceCore
@testable import KeyServiceServer

@Suite struct ReadinessTests {
    /// A check of the store that counts its calls, and waits at a gate.
    private final class Check: Sendable {
        private let calls = Lock(0)
        private let gate: AsyncStream<Void>
        let open: AsyncStream<Void>.Continuation

        init() { (gate, open) = AsyncStream.makeStream(of: Void.self) }

        var count: Int { calls.withLock { $0 } }

        func run() async throws {
            calls.withLock { $0 += 1 }
            for await _ in gate {}
        }
    }

    private func readiness(
        _ control: KeyServiceControl = KeyServiceControl(), metrics: KeyServiceMetrics = KeyServiceMetrics(),
        timeout: DispatchTimeInterval = .seconds(60), _ check: @escaping @Sendable () async throws -> Void
    ) -> Readiness {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return Readiness(control: control, metrics: metrics, logger: logger, timeout: timeout, check: check)
    }

    @Test func `when readiness requests overlap, then one check serves all`() async {
        let check = Check()
        let readiness = readiness { try await check.run() }
        async let first = readiness.isReady
        while check.count == 0 { await Task.yield() }
        async let others = withTaskGroup(of: Bool.self) { group in
            for _ in 1...100 { group.addTask { await readiness.isReady } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        check.open.finish()
        #expect(await first)
        #expect(await others == Array(repeating: true, count: 100))
        #expect(check.count == 1)
    }

    @Test func `when the service drains, then it is not ready`() async {
        let control = KeyServiceControl()
        let readiness = readiness(control) {}
        #expect(await readiness.isReady)
        control.beginDraining()
        #expect(await !readiness.isReady)
    }

    @Test func `when a master key is missing, then logs name it`() async throws {
        let (opened, log) = (try await OpenedStore.inMemory(), LogCapture())
        let reply = try await withService(opened, logger: log.makeLogger()) { client async throws in
            // Another server has it already.
            let missing = try MasterKey.random()
            try await opened.store.addMasterKey(missing.makeEntry())
            let reply = try await client.get("/readyz")
            #expect(log.text.contains("The database needs the master key \(missing.id)."))
            let body = String(decoding: reply.body, as: UTF8.self)
            #expect(!body.contains("\(missing.id)"), "only the operator reads it")
            return reply
        }
        #expect(reply.status == 503)
    }

    @Test(.timeLimit(.minutes(1)))
    func `when a check hangs, then readiness fails all the same`() async {
        let prometheus = PrometheusMetrics()
        let metrics = KeyServiceMetrics(factory: prometheus)
        metrics.isReady(true)
        let check = Check()
        let readiness = readiness(metrics: metrics, timeout: .milliseconds(1)) { try await check.run() }
        let answers = await withTaskGroup(of: Bool.self) { group in
            for _ in 1...100 { group.addTask { await readiness.isReady } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: false, count: 100))
        #expect(prometheus.text().contains("vault_key_service_ready 0\n"))
        #expect(check.count == 1, "one check at a time")
        check.open.finish()
        // The service recovers with the check that hung.
        while await !readiness.isReady { await Task.yield() }
    }

    @Test(.timeLimit(.minutes(1)))
    func `when a check hangs, then the metrics answer`() async {
        let check = Check()
        let health = HealthResponder(
            readiness: readiness { try await check.run() }, metrics: KeyServiceMetrics(), metricsText: { "figures" })
        #expect(await health.answer(.metrics, .get).status == .ok)
        check.open.finish()
    }

    @Test func `when the store is broken, then readiness fails`() async {
        #expect(await !readiness { throw KeyServiceServerError.busy }.isReady)
    }
}
