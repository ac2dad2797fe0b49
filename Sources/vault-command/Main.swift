import Dispatch
import VaultCommands

@main
struct Main {
    // Not async: an async main would run on a second thread.
    static func main() {
        VaultProgram.prepare()
        Task.detached { @Sendable in await VaultProgram.run() }
        dispatchMain()
    }
}
