internal import Hummingbird
internal import KeyServiceCore
internal import NIOCore

/// The context of a request, with its connection.
struct KeyServiceContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
