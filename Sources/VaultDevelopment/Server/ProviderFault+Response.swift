internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird

extension ProviderFault {
    /// The answer instead of the processing; nil if the request is processed.
    var answer: Response? {
        guard case .answer(let status, let type, let body, let retryAfter) = kind else { return nil }
        var response = Response.plain(.init(code: status), type, Data(body.utf8))
        response.headers[.retryAfter] = retryAfter.map(String.init)
        return response
    }

    /// Applies the fault after the processing: holds the answer back, or closes the connection.
    func end(_ faults: FaultInjector, _ context: LoopbackRequestContext) async {
        if kind == .delayAnswer { await faults.hold() }
        if kind == .swallowAnswer { try? await context.channel.close() }
    }
}
