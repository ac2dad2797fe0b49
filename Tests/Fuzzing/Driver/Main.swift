import CLibFuzzer
import Foundation

/// The program that libFuzzer runs: `vault-fuzz TARGET [OPTION...] [FOLDER...]`. See Tests/Fuzzing/run.sh.
@main
enum Main {
    nonisolated(unsafe) private static var target = FuzzTarget.json
    private static let variable = "CREDENTIAL_VAULT_FUZZ_TARGET"

    static func main() {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        if let chosen = CommandLine.arguments.dropFirst().first.flatMap(FuzzTarget.init) {
            target = chosen
            // libFuzzer accepts only its own options.
            count -= 1
            arguments?[1] = CommandLine.unsafeArgv[0]
            arguments = arguments?.advanced(by: 1)
            // To merge, libFuzzer starts this program again, with its own options only.
            setenv(variable, chosen.rawValue, 1)
        } else if let chosen = ProcessInfo.processInfo.environment[variable].flatMap(FuzzTarget.init) {
            target = chosen
        } else {
            for target in FuzzTarget.allCases { print(target.rawValue) }
            exit(64)
        }
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
