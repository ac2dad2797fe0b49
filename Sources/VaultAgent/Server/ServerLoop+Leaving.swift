internal import CLinux
internal import Glibc

// Clients that send nothing more. Perhaps they still read.
extension ServerLoop {
    /// Notes that a client left during its request, and stops watching it, because epoll(7) would report the end again
    /// and again.
    func noteLeaving(_ client: ClientSocket) {
        client.hasLeft = true
        epoll_ctl(poll, EPOLL_CTL_DEL, client.descriptor, nil)
        client.awaited = 0
    }

    /// Carries out the requests that a client sent before it left. Perhaps nobody reads the answers.
    mutating func finish(_ client: ClientSocket) {
        serve(client)
        while case .listening = client.phase, clients[client.descriptor] === client {
            guard client.receive(into: buffer) == .fine else { return leave(client) }
            serve(client)
        }
        // A client that sends nothing more cannot end its watch, so it would keep its descriptor for ever.
        if case .watching = client.phase, clients[client.descriptor] === client { leave(client) }
    }

    /// Drops a client that sends nothing more, after it has read the answers that are left. A client that ended only its
    /// own direction still reads.
    mutating func leave(_ client: ClientSocket) {
        client.hasLeft = true
        guard client.wantsToWrite, client.flush() == .fine, client.wantsToWrite else { return drop(client) }
        client.phase = .listening
        // Errors and the end of both directions are reported always.
        let operation = client.awaited == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
        client.awaited = EPOLLOUT.rawValue
        watch(client.descriptor, operation, client.awaited, as: client.number)
    }

    /// Drops a client that has left, when it has read everything or reads no more.
    mutating func dropIfDone(_ client: ClientSocket, _ events: UInt32) {
        if !client.wantsToWrite || events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { drop(client) }
    }
}
