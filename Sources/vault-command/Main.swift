import Dispatch
import VaultCommands

@main
struct Main {
    // Were it async, this would be a second thread already.
    static func main() {
        VaultProgram.prepare()
        Task.detached { @Sendable in await VaultProgram.run() }
        dispatchMain()
    }
}
