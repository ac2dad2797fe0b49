import Foundation
import TestSupport

/// Tries every order of events, depth first, or the order of a seed.
struct Explorer {
    /// The greatest number of crashes in one run.
    var crashes = 1
    /// The greatest number of runs. More runs are a mistake.
    var limit = 200_000

    /// The complaints, and the number of runs.
    struct Findings: Sendable {
        var runs = 0
        /// The first complaints, with the events that led to them.
        var complaints: [String] = []
        var events: [String] = []
    }

    /// Ends with the first run that causes a complaint.
    func explore(_ makeWorld: @escaping @Sendable () throws -> some World) async throws -> Findings {
        try await onOwnThread { try search(makeWorld) }
    }

    /// Runs a world once, in the order of a seed.
    func explore(_ world: some World, seed: UInt64) async throws -> Findings {
        try await onOwnThread {
            let run = Run(.random(SeededGenerator(state: seed), stays: seed % 2 == 0 ? 0 : 7))
            run.play(world, crashes: crashes)
            let record = run.record
            return Findings(runs: 1, complaints: record.complaints, events: record.events)
        }
    }

    /// A separate thread, because this takes long.
    private func onOwnThread(_ body: @escaping @Sendable () throws -> Findings) async throws -> Findings {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    private func search(_ makeWorld: () throws -> some World) throws -> Findings {
        var (findings, script) = (Findings(), [Int]())
        repeat {
            let run = Run(.script(script))
            run.play(try makeWorld(), crashes: crashes)
            findings.runs += 1
            if findings.runs > limit { run.complain("There are more than \(limit) orders.") }
            let record = run.record
            (findings.complaints, findings.events) = (record.complaints, record.events)
            if !findings.complaints.isEmpty { return findings }
            var made = record.made
            while let last = made.last, last.choice + 1 == last.count { made.removeLast() }
            script = made.map(\.choice)
            if !script.isEmpty { script[script.count - 1] += 1 }
        } while !script.isEmpty
        return findings
    }
}
