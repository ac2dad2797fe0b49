internal import CredentialVault
internal import Dispatch
internal import Foundation
internal import VaultLocks

/// Ctrl-C and its kin: the terminal is put back as it was, and the command ends at once, unless a token that the
/// provider is renewing right now would be lost. Then it ends as soon as that is stored; a second Ctrl-C ends it anyway.
enum Interruption {
    /// Keeps a source alive; nobody touches it again.
    private struct Kept: @unchecked Sendable {
        let source: any DispatchSourceSignal
    }

    private static let sources = Lock<[Kept]>([])
    private static let count = Lock(0)

    static func install() {
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            // Somebody who started us with the signal ignored (nohup) wants it ignored.
            var current = sigaction()
            sigaction(number, nil, &current)
            if current.__sigaction_handler.sa_handler.map({ unsafeBitCast($0, to: Int.self) }) == 1 { continue }
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            source.setEventHandler { @Sendable in received(number) }
            source.activate()
            let kept = Kept(source: source)
            sources.withLock { $0.append(kept) }
        }
    }

    @Sendable private static func received(_ number: Int32) {
        if TerminalMode.restore() { Output.note("") }
        let isFirst = count.withLock { count in
            count += 1
            return count == 1
        }
        // From here on no renewal begins, either: what is put back before the end takes its time.
        guard isFirst, !CriticalSection.close() else { end(number) }
        Output.note("vault: storing the renewed token before stopping (once more Ctrl-C stops at once and may lose it)")
        endWhenIdle(number)
    }

    private static func endWhenIdle(_ number: Int32) {
        CriticalSection.whenIdle {
            // Another renewal may have begun right now.
            if CriticalSection.close() { end(number) } else { endWhenIdle(number) }
        }
    }

    private static func end(_ number: Int32) -> Never {
        Spinner.stopAll()
        Undoing.all()
        if number == SIGINT {
            Output.note("vault: cancelled")
            _exit(ExitStatus.cancelled)
        }
        // Ends by the signal itself, so that the shell knows. Dispatch's threads block it, and elsewhere it may come late.
        signal(number, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
        _exit(128 + number)
    }
}
