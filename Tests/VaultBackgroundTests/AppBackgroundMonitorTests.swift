import Testing
import VaultBackground

@Suite(.timeLimit(.minutes(1))) struct AppBackgroundMonitorTests {
    @Test func `when the app's state changes, then listeners hear it once`() async {
        let monitor = AppBackgroundMonitor()
        let (first, second) = (monitor.changes(), monitor.changes())
        monitor.leaveBackground()
        monitor.enterBackground()
        monitor.enterBackground()
        monitor.leaveBackground()
        monitor.enterBackground()
        for stream in [first, second] {
            #expect(await stream.prefix(3).reduce(into: []) { $0.append($1) } == [.entered, .left, .entered])
        }
    }

    @Test func `when listening begins in the background, then entering is announced`() async {
        let monitor = AppBackgroundMonitor()
        monitor.enterBackground()
        let changes = monitor.changes()
        monitor.leaveBackground()
        #expect(await changes.prefix(2).reduce(into: []) { $0.append($1) } == [.entered, .left])
    }

    @Test func `when one listener goes away, then the others continue`() async {
        let monitor = AppBackgroundMonitor()
        let changes = monitor.changes()
        let other = Task { [changes = monitor.changes()] in
            for await _ in changes {}
        }
        other.cancel()
        await other.value
        _ = monitor.changes()
        monitor.enterBackground()
        #expect(await changes.first { _ in true } == .entered)
    }

    @Test func `when a listener asks again, then its change is taken`() async {
        let (stream, listener) = BackgroundListener.make()
        let (taken, note) = AsyncStream.makeStream(of: String.self)
        listener.whenTaken { note.yield("nothing") }
        listener.tell(.entered)
        listener.whenTaken { note.yield("first") }
        listener.tell(.left)
        listener.whenTaken { note.yield("both") }
        var iterator: AsyncStream<BackgroundChange>.Iterator? = stream.makeAsyncIterator()
        #expect(await iterator?.next() == .entered)
        note.yield("busy with the first")
        #expect(await iterator?.next() == .left)
        note.yield("busy with the second")
        listener.whenTaken { note.yield("both, too") }
        iterator = nil
        listener.end()
        listener.tell(.entered)
        listener.whenTaken { note.yield("gone") }
        note.finish()
        #expect(
            await taken.reduce(into: []) { $0.append($1) } == [
                "nothing", "busy with the first", "first", "busy with the second", "both", "both, too", "gone",
            ])
    }
}
