internal import Foundation
internal import SystemPackage

/// A command that takes this process's place: its signals, its process group, its terminal and its exit status are its
/// own, and nothing of this program stays in memory.
struct Replacement {
    /// Why the command does not run, with the exit status that shells give.
    struct Failure: Error {
        let status: Int32
        /// For a program, as the codes of ``VaultError`` are.
        let name: String
        let description: String
    }

    private let path: String
    private let arguments: [String]

    /// - Parameter command: the program and its arguments.
    /// - Throws: ``Failure`` when there is no such program, or it cannot be run.
    init(_ command: [String]) throws {
        let name = command.first ?? ""
        switch ProgramPath(name) {
        case .found(let path): self.path = path
        case .missing: throw Failure(status: 127, name: "commandNotFound", description: "\(name): command not found")
        case .notExecutable:
            throw Failure(status: 126, name: "commandNotExecutable", description: "\(name): permission denied")
        }
        arguments = command
    }

    /// Runs the command.
    ///
    /// - Parameter variables: what is added to the environment, or replaces variables of it.
    /// - Throws: ``Failure`` with status 126. The command did not begin.
    func run(with variables: [String: String]) throws -> Never {
        let inherited = InheritedState.saved
        let names = Set(variables.keys)
        let environment =
            inherited.environment.filter { !names.contains(String($0.prefix { $0 != "=" })) }
            + variables.map { "\($0.key)=\($0.value)" }
        inherited.restore()
        var failure = Self.execute(path, arguments, environment)
        // A script without a first line that names its program is the shell's.
        if failure == ENOEXEC {
            failure = Self.execute("/bin/sh", ["sh", path] + arguments.dropFirst(), environment)
        }
        throw Failure(
            status: 126, name: "commandNotExecutable",
            description: "\(arguments[0]) cannot be run: \(Errno(rawValue: failure).description)")
    }

    /// - Returns: the error's number, and only then.
    private static func execute(_ path: String, _ arguments: [String], _ environment: [String]) -> Int32 {
        let words = arguments.map { strdup($0) } + [nil]
        let variables = environment.map { strdup($0) } + [nil]
        execve(path, words, variables)
        return errno
    }
}
