/// The faults for the next requests at the endpoints. It also holds requests back until their release.
actor FaultInjector {
    private var faults: [String: (fault: ProviderFault, remaining: Int?)] = [:]
    private var held: [CheckedContinuation<Void, Never>] = []
    private var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    private var isClosed = false

    func set(_ fault: ProviderFault?, count: Int?, at endpoint: String) {
        faults[endpoint] = fault.map { ($0, count) }
    }

    /// Returns the fault for a new request. If the fault is a delay, it returns late.
    func begin(at endpoint: String) async -> ProviderFault? {
        guard let (fault, remaining) = faults[endpoint] else { return nil }
        if let remaining { faults[endpoint] = remaining <= 1 ? nil : (fault, remaining - 1) }
        if fault.kind == .delay { await hold() }
        return fault
    }

    /// Returns when the held-back requests are released.
    func hold() async {
        guard !isClosed else { return }
        await withCheckedContinuation { continuation in
            held.append(continuation)
            let ready = waiting.filter { $0.count <= held.count }
            waiting.removeAll { $0.count <= held.count }
            for waiter in ready { waiter.continuation.resume() }
        }
    }

    func release() {
        for continuation in held { continuation.resume() }
        held = []
    }

    /// Returns when `count` requests are held back, or when the provider is stopped.
    func waitUntilHeld(_ count: Int) async {
        guard !isClosed, held.count < count else { return }
        await withCheckedContinuation { waiting.append((count, $0)) }
    }

    /// Lets all requests continue, now and later.
    func close() {
        isClosed = true
        release()
        for waiter in waiting { waiter.continuation.resume() }
        waiting = []
    }
}
