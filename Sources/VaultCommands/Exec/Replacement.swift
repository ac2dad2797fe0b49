internal import Foundation
internal import SystemPackage

/// A command that replaces this process. It has its own signals, process group, terminal and exit status. Nothing of
/// this program stays in memory.
struct Replacement {
    /// Why the command does not run, with the exit status that shells give.
    struct Failure: Error {
        let status: Int32
        /// The code in JSON, like the codes of ``VaultError``.
        let name: String
        let description: String
    }

    private let path: String
    private let name: String
    /// How many words the command has.
    private let count: Int

    /// - Parameter command: the program and its arguments: the last words of this program's own command line.
    /// - Throws: ``Failure`` when there is no such program, or it cannot be run.
    init(_ command: [String]) throws {
        name = command.first ?? ""
        count = command.count
        switch ProgramPath(name) {
        case .found(let path): self.path = path
        case .missing: throw Failure(status: 127, name: "commandNotFound", description: "\(name): command not found")
        case .notExecutable:
            throw Failure(status: 126, name: "commandNotExecutable", description: "\(name): permission denied")
        }
    }

    /// Runs the command.
    ///
    /// - Parameter variables: the variables to add to the environment, or to replace.
    /// - Throws: ``Failure`` with status 126 if the command does not start.
    func run(with variables: [String: String]) throws -> Never {
        let inherited = InheritedState.saved
        // The original bytes: a word or a variable need not be UTF-8.
        let words =
            UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc)).suffix(count) + [nil]
        let environment =
            inherited.environment(without: Set(variables.keys))
            + variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        inherited.restore()
        execve(path, Array(words), environment)
        var failure = errno
        // The shell runs a script that has no `#!` line.
        if failure == ENOEXEC {
            execve("/bin/sh", [strdup("sh"), strdup(path)] + words.dropFirst(), environment)
            failure = errno
        }
        throw Failure(
            status: 126, name: "commandNotExecutable",
            description: "\(name) cannot be run: \(Errno(rawValue: failure).description)")
    }
}
