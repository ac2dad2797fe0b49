internal import Foundation
internal import VaultStorage

/// Asks the person before a program uses a session for the first time.
///
/// It helps against a program that asks openly. A program of the same user can pretend to be another one.
package struct ProgramConsent: Sendable {
    private let ask: @Sendable (_ program: String, _ account: String) async -> Bool
    /// The programs of this package: the program that started one of them counts instead.
    private let own: Set<String>

    /// - Parameters:
    ///   - own: the paths of the programs of this package.
    ///   - ask: asks the person, and returns whether the program may go on.
    package init(
        own: Set<String>, ask: @escaping @Sendable (_ program: String, _ account: String) async -> Bool
    ) {
        self.own = own
        self.ask = ask
    }

    func isGiven(to process: Int32, for held: HeldSession) -> Bool { held.allows(program(of: process)) }

    func require(from process: Int32, for held: HeldSession) async throws {
        let program = program(of: process)
        guard !held.allows(program) else { return }
        guard await ask(program, held.name) else {
            throw VaultError(.cancelled, "\(program) may not use the session of \(held.name): the person said no.")
        }
        held.allow(program)
    }

    /// The path of the program that asks.
    private func program(of process: Int32) -> String {
        var (process, path) = (process, Self.path(of: process))
        while own.contains(path), let parent = Self.parent(of: process), parent > 1 {
            (process, path) = (parent, Self.path(of: parent))
        }
        return path
    }

    private static func path(of process: Int32) -> String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")) ?? "an unknown program"
    }

    private static func parent(of process: Int32) -> Int32? {
        guard let stat = FileManager.default.contents(atPath: "/proc/\(process)/stat"),
            // The name of the program, in brackets, may hold anything.
            let end = stat.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = String(decoding: stat[stat.index(after: end)...], as: UTF8.self).split(separator: " ")
        return fields.count > 1 ? Int32(fields[1]) : nil
    }
}
