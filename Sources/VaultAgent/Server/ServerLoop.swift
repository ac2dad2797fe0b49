internal import CLinux
internal import Foundation
internal import VaultAgentProtocol
internal import VaultStorage

/// The state of the serving thread.
struct ServerLoop {
    let server: AgentServer
    let listener: AgentListener
    let wakeUp: Int32
    let poll = epoll_create1(Int32(EPOLL_CLOEXEC))
    var clients: [Int32: ClientSocket] = [:]
    private var descriptors: [UInt64: Int32] = [:]
    private static let (ofListener, ofWakeUp): (UInt64, UInt64) = (0, 1)
    private var nextNumber: UInt64 = 2
    private var turn: UInt64 = 0
    private let greatestCount: Int
    /// When to give back the memory of program code that a login or a renewal has loaded; nil when nothing is to be given
    /// back. It is dozens of megabytes that are not needed again soon.
    private var givingBack: ContinuousClock.Instant? = .now + .seconds(1)
    /// What is read of one client in its turn: a longer request takes more turns. Short requests come in hundreds in these
    /// bytes, and the other clients wait until all are answered.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    /// How often the thread looks for another request before it sleeps: for about 50 microseconds. With one processor,
    /// the client could not run meanwhile.
    private let looksBeforeSleep = ProcessInfo.processInfo.activeProcessorCount > 1 ? 100 : 0
    /// The client that asked last, and how often the thread looked at it without a look at the others.
    private var last: (client: ClientSocket, looks: Int)?

    init(server: AgentServer, listener: AgentListener, wakeUp: Int32) {
        (self.server, self.listener, self.wakeUp) = (server, listener, wakeUp)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(7), &limit)
        limit.rlim_cur = min(limit.rlim_max, 16_384)
        setrlimit(__rlimit_resource_t(7), &limit)
        // The store, its locks and connections to servers need descriptors, too.
        greatestCount = max(64, Int(limit.rlim_cur) - 128)
    }

    mutating func run() {
        defer {
            for client in clients.values { _ = client.flush() }
            clients = [:]
            buffer.deallocate()
            close(poll)
        }
        watch(listener.descriptor, EPOLL_CTL_ADD, EPOLLIN.rawValue, as: Self.ofListener)
        watch(wakeUp, EPOLL_CTL_ADD, EPOLLIN.rawValue, as: Self.ofWakeUp)
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        var looks = 0
        while true {
            // A program that asks again does so at once. To fall asleep and wake up would take longer than the answer.
            // So would the question to epoll(7) whether the same program has asked.
            if looks > 0, let asked = serveLastAgain() {
                looks = asked ? looksBeforeSleep : looks - 1
                continue
            }
            let timeout: Int32 = looks > 0 ? 0 : givingBack == nil ? -1 : 1000
            let count = epoll_wait(poll, &events, Int32(events.count), timeout)
            if count < 0 && errno != EINTR { return }
            looks = count > 0 ? looksBeforeSleep : max(0, looks - 1)
            if count == 0, timeout == 0 { continue }
            if let moment = givingBack, moment <= .now {
                linux_give_back_program_pages()
                givingBack = nil
            }
            for event in events.prefix(Int(max(0, count))) {
                switch event.data.u64 {
                case Self.ofListener: acceptAll()
                case Self.ofWakeUp: if handleInbox() { return }
                // An earlier event of this round may have ended the client. Its descriptor can be a new client's by now.
                case let number:
                    guard let client = descriptors[number].flatMap({ clients[$0] }) else { continue }
                    handle(client, event.events)
                }
            }
        }
    }

    /// - Parameter number: what an event names, which is not the descriptor: that may belong to another client later.
    func watch(_ descriptor: Int32, _ operation: Int32, _ events: UInt32, as number: UInt64) {
        var event = epoll_event()
        event.events = events
        event.data.u64 = number
        epoll_ctl(poll, operation, descriptor, &event)
    }

    // MARK: - Clients

    /// Answers the client that asked last, if it has asked again.
    ///
    /// - Returns: whether it has asked; nil if it is now the turn of all clients.
    private mutating func serveLastAgain() -> Bool? {
        guard let (client, looks) = last, looks < 8, clients[client.descriptor] === client, !client.hasLeft,
            case .listening = client.phase
        else {
            last?.looks = 0
            return nil
        }
        last?.looks += 1
        // Not more than a few requests: a client that sends without end must not delay the others.
        switch client.receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<512])) {
        case .nothing: return false
        case .over: leave(client)
        case .fine:
            note(client)
            serve(client)
        }
        return true
    }

    private mutating func acceptAll() {
        while true {
            let descriptor = linux_accept(listener.descriptor)
            guard descriptor >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                // Without a free descriptor, epoll would report the same connection again and again.
                if errno == EMFILE || errno == ENFILE, makeRoom() { continue }
                return
            }
            guard let peer = PeerCredentials(of: descriptor), peer.user == geteuid() else {
                close(descriptor)
                continue
            }
            if clients.count >= greatestCount && !makeRoom() {
                close(descriptor)
                continue
            }
            let client = ClientSocket(descriptor: descriptor, number: nextNumber, process: peer.process)
            nextNumber += 1
            note(client)
            clients[descriptor] = client
            descriptors[client.number] = descriptor
            client.awaited = EPOLLIN.rawValue | EPOLLRDHUP.rawValue
            watch(descriptor, EPOLL_CTL_ADD, client.awaited, as: client.number)
        }
    }

    private mutating func note(_ client: ClientSocket) {
        turn += 1
        client.lastTurn = turn
        if last?.client !== client { last = (client, 0) }
    }

    /// Ends the connection that has been silent for the longest time.
    private mutating func makeRoom() -> Bool {
        // One that watches is dropped only if there is no other: its app then takes the session for locked.
        let idle = clients.values.filter { if case .listening = $0.phase { true } else { false } }
        let watching = clients.values.filter { if case .watching = $0.phase { true } else { false } }
        guard let oldest = (idle.isEmpty ? watching : idle).min(by: { $0.lastTurn < $1.lastTurn }) else { return false }
        drop(oldest)
        return true
    }

    mutating func drop(_ client: ClientSocket) {
        epoll_ctl(poll, EPOLL_CTL_DEL, client.descriptor, nil)
        clients[client.descriptor] = nil
        descriptors[client.number] = nil
        if last?.client === client { last = nil }
    }

    private mutating func handle(_ client: ClientSocket, _ events: UInt32) {
        note(client)
        if events & EPOLLOUT.rawValue != 0, client.flush() == .over { return drop(client) }
        if client.hasLeft { return dropIfDone(client, events) }
        if events & EPOLLIN.rawValue != 0 {
            switch client.phase {
            case .listening:
                guard client.receive(into: buffer) != .over else { return leave(client) }
                serve(client)
            // A client that sends while it watches is dropped. A client that sends during a request waits for its turn.
            case .watching: leave(client)
            case .working: update(client)
            }
        } else if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue | EPOLLRDHUP.rawValue) != 0 {
            // Only after all its data was read: a client may send a lock request and disconnect. An event from before the
            // answer to its last request does not tell of data. It is reported again, with the data.
            if case .listening = client.phase, events & EPOLLERR.rawValue == 0, client.awaited & EPOLLIN.rawValue != 0 {
                return
            }
            guard case .working = client.phase else { return leave(client) }
            // Another request of this client may wait behind the one that is under way, so the client stays for now.
            noteLeaving(client)
        } else {
            update(client)
        }
    }

    /// Answers all complete requests.
    mutating func serve(_ client: ClientSocket) {
        do {
            while case .listening = client.phase, let request = try client.nextRequest() {
                if case .watch(let account) = request {
                    client.phase = .watching(account)
                    guard client.send(.done) == .fine else { return drop(client) }
                    if let account, !server.isHeld(account) {
                        let event = AgentEvent(account: account, event: "locked", reason: "requested", failure: nil)
                        guard client.send(.event(event)) == .fine else { return drop(client) }
                    }
                    break
                }
                guard let answer = server.answer(request, client.number, process: client.process) else {
                    client.phase = .working
                    break
                }
                guard client.send(answer) == .fine || client.hasLeft else { return drop(client) }
            }
            update(client)
        } catch {
            var failure = AgentFailure(VaultError(error))
            if case .otherVersion = error {} else { failure.message = "The agent did not understand a request." }
            _ = client.send(.failed(failure))
            drop(client)
        }
    }

    /// Waits for the events that the client's phase needs.
    private func update(_ client: ClientSocket) {
        guard !client.hasLeft else { return }
        var events = EPOLLRDHUP.rawValue
        // During a request, the next one stays in the socket.
        if case .working = client.phase {} else { events |= EPOLLIN.rawValue }
        if client.wantsToWrite { events |= EPOLLOUT.rawValue }
        guard events != client.awaited else { return }
        client.awaited = events
        watch(client.descriptor, EPOLL_CTL_MOD, events, as: client.number)
    }

    // MARK: - Messages of tasks

    private mutating func handleInbox() -> Bool {
        if givingBack == nil { givingBack = .now + .seconds(1) }
        let (messages, events, isStopping) = server.takeInbox()
        // Before the answer, so that a program that asks next finds no agent, and not one that ends.
        if isStopping { listener.remove() }
        for (number, answer) in messages {
            guard let client = descriptors[number].flatMap({ clients[$0] }) else { continue }
            client.phase = .listening
            // A client that reads no answer any more may have sent another request, for example a lock.
            if client.send(answer) != .fine, !client.hasLeft { noteLeaving(client) }
            if client.hasLeft { finish(client) } else { serve(client) }
        }
        for event in events {
            for client in Array(clients.values) {
                guard case .watching(let account) = client.phase, account == nil || account == event.account else {
                    continue
                }
                if client.send(.event(event)) == .fine { update(client) } else { drop(client) }
            }
        }
        return isStopping
    }
}
