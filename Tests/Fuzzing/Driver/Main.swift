import CLibFuzzer
import Foundation

/// What libFuzzer runs: `vault-fuzz TARGET [OPTION...] [FOLDER...]`. See Tests/Fuzzing/run.sh.
@main
enum Main {
    nonisolated(unsafe) private static var target = FuzzTarget.json

    static func main() {
        guard CommandLine.argc > 1, let chosen = FuzzTarget(rawValue: CommandLine.arguments[1]) else {
            for target in FuzzTarget.allCases { print(target.rawValue) }
            exit(64)
        }
        target = chosen
        // libFuzzer wants its own options only.
        var count = CommandLine.argc - 1
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        arguments?[1] = CommandLine.unsafeArgv[0]
        arguments = arguments?.advanced(by: 1)
        exit(
            LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
                let input = Array(UnsafeBufferPointer(start: bytes, count: count))
                let target = Main.target
                let isDone = DispatchSemaphore(value: 0)
                Task.detached {
                    await target.run(input)
                    isDone.signal()
                }
                isDone.wait()
                return 0
            })
    }
}
