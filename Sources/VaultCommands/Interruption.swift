internal import CLinux
internal import CredentialVault
internal import Dispatch
internal import Foundation
internal import VaultBase

/// The end of the command by Ctrl-C or another signal. The terminal is restored, and the command ends at once. If the
/// provider is renewing a token, the command first stores the new token. A second Ctrl-C ends the command anyway.
enum Interruption {
    /// Keeps a source alive.
    private struct Kept: @unchecked Sendable {
        // Sound: nothing uses the source again.
        let source: any DispatchSourceSignal
    }

    private static let sources = Lock<[Kept]>([])
    private static let count = Lock(0)
    private static let work = Lock((cancel: (@Sendable () -> Void)?.none, signal: Int32?.none))

    /// Runs work that cleans up when it is cancelled, for example at the provider. The first Ctrl-C cancels the work.
    /// The command then ends with the work, or after `limit`. The second Ctrl-C ends the command at once.
    static func cancelling<R: Sendable>(
        within limit: Duration, _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        let task = Task { try await body() }
        work.withLock { $0 = ({ task.cancel() }, nil) }
        self.limit.withLock { $0 = limit }
        let result = await task.result
        let number = work.withLock { work in
            defer { work.cancel = nil }
            return work.signal
        }
        if let number { stop(number) }
        return try result.get()
    }

    private static let limit = Lock(Duration.zero)

    /// - Returns: whether there was work to cancel, which ends the command soon.
    private static func cancelWork(_ number: Int32) -> Bool {
        let cancel = work.withLock { work in
            if work.cancel != nil { work.signal = number }
            return work.cancel
        }
        guard let cancel else { return false }
        Spinner.stopAll()
        cancel()
        let timeout = limit.withLock { $0 }
        DispatchQueue.global(qos: .userInteractive).asyncAfter(
            deadline: .now() + .milliseconds(Int(timeout / .milliseconds(1)))
        ) { @Sendable in stop(number) }
        return true
    }

    static func install() {
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            // A signal that was ignored at the start (nohup) stays ignored.
            if linux_ignores_signal(number) != 0 { continue }
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            source.setEventHandler { @Sendable in received(number) }
            source.activate()
            let kept = Kept(source: source)
            sources.withLock { $0.append(kept) }
        }
    }

    @Sendable private static func received(_ number: Int32) {
        let wasAsking = TerminalMode.restore(isEnding: true)
        let wasTurning = Spinner.stopAll()
        // The terminal may have shown ^C. The line of a spinner is empty again.
        if wasAsking || number == SIGINT && !wasTurning && isatty(STDERR_FILENO) == 1 { Output.note("") }
        let isFirst = count.withLock { count in
            count += 1
            return count == 1
        }
        if isFirst && cancelWork(number) { return }
        guard isFirst else { end(number) }
        stop(number)
    }

    /// Tells a person why a login does not end at once.
    static let finishingGuess =
        "vault: waiting for the key service, so that this login costs no guess. To stop at once, press Ctrl-C again."

    /// Tells a person why the command does not end at once.
    static let waiting =
        "vault: storing the renewed token before stopping. Ctrl-C again stops at once and may lose the token."

    /// Ends the command as soon as no token can be lost.
    @Sendable private static func stop(_ number: Int32) {
        // No renewal begins from here on: undoing changes before the end takes time.
        if close() { end(number) }
        Output.note(isFinishingGuess ? finishingGuess : waiting)
        endWhenIdle(number)
    }

    /// Whether a guess was sent to a key service, and its end is not stored yet.
    private static var isFinishingGuess: Bool {
        guards.withLock { $0.all.contains { $0.value?.isFinishingGuess == true } }
    }

    private static func endWhenIdle(_ number: Int32) {
        guard let busy = guards.withLock({ $0.all.compactMap(\.value).first(where: \.isActive) }) else {
            // Another renewal may have begun right now.
            if close() { end(number) }
            return endWhenIdle(number)
        }
        busy.whenIdle { endWhenIdle(number) }
    }

    /// The vaults that are open, and whether the command is about to end.
    private static let guards = Lock((all: [WeakGuard](), isClosed: false))

    /// A vault may be closed before the command ends, as in the agent.
    private struct WeakGuard: Sendable {
        weak let value: StopGuard?
    }

    /// Makes the command wait for this vault before it ends, so that a renewed token is stored.
    static func wait(for stopGuard: StopGuard) {
        let isClosed = guards.withLock { guards in
            guards.all.removeAll { $0.value == nil }
            guards.all.append(WeakGuard(value: stopGuard))
            return guards.isClosed
        }
        if isClosed { _ = stopGuard.close() }
    }

    /// Waits until the command can end without losing a token. Later renewals do not begin.
    static func drain() async {
        while !close() {
            guard let busy = guards.withLock({ $0.all.compactMap(\.value).first(where: \.isActive) }) else { continue }
            await withCheckedContinuation { continuation in busy.whenIdle { continuation.resume() } }
        }
    }

    /// Prevents new renewals.
    ///
    /// - Returns: false when stopping right now could lose a token.
    private static func close() -> Bool {
        guards.withLock { guards in
            guards.isClosed = guards.all.allSatisfy { $0.value?.close() ?? true }
            return guards.isClosed
        }
    }

    /// Whether a signal ends the command right now.
    private static let isEnding = Lock(false)

    /// Waits for ever if a signal ends the command right now. What the signal stopped has failed, and would otherwise
    /// give the command another exit status, before everything is undone.
    static func giveWay() {
        while isEnding.withLock(\.self) { pause() }
    }

    private static func end(_ number: Int32) -> Never {
        isEnding.withLock { $0 = true }
        Spinner.stopAll()
        Undoing.all()
        if number == SIGINT {
            Output.note(
                isFinishingGuess
                    ? "vault: Cancelled. This guess may count as wrong. To take it back, log in with the right secret: \(Proposed.command("login"))"
                    : "vault: Cancelled.")
            _exit(ExitStatus.cancelled)
        }
        // The signal itself ends the process, so that the shell knows the cause. Dispatch's threads block the signal.
        // In another thread it may come late.
        signal(number, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
        _exit(128 + number)
    }
}
