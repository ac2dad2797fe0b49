internal import ArgumentParser
internal import Foundation
internal import KeyServiceAudit

extension Audit {
    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Verify an audit log, on a machine with the verification key.",
            discussion: """
                  vault-key-service audit verify --audit-log audit.log audit.log.1 --verification-key audit.key \
                --anchor 815:5f...

                The exit status is 0 if all lines are genuine, and 65 if not. Only an anchor shows if somebody cut \
                off the end of the log.
                """)

        @Option(
            name: .customLong("audit-log"), parsing: .upToNextOption,
            help: ArgumentHelp("The files of the audit log, in any order.", valueName: "file"))
        var files: [String]

        @Option(help: ArgumentHelp("The file with the verification key.", valueName: "file"))
        var verificationKey: String

        @Option(
            help: ArgumentHelp(
                "An anchor from another machine. The log must have its line. Can be given several times.",
                valueName: "seq:mac"))
        var anchor: [String] = []

        @Option(
            help: ArgumentHelp(
                "The anchor of the last line before these files, if you keep no older files.", valueName: "seq:mac"))
        var start: String?

        func run() async throws {
            try await Failure.reporting {
                let anchors = try anchor.map(Self.anchor)
                let verifier = try AuditVerifier(
                    key: AuditVerificationKey(path: verificationKey), anchors: anchors, start: start.map(Self.anchor))
                let report = try verifier.verify(files)
                for note in report.notes { Output.result(note) }
                let lines = report.count == 1 ? "1 line" : "\(report.count) lines"
                let time = report.firstTime.map { ", from \($0) to \(report.lastTime ?? $0)" } ?? ""
                if let damage = report.damage {
                    Output.result("\(lines)\(time), genuine up to the damage.")
                    let hint = damage.isOfStart ? " Name it with --start." : ""
                    throw Failure.damaged("\(damage.kind.rawValue): \(damage.description)\(hint)")
                }
                guard report.count > 0 else {
                    throw Failure.damaged("The log is empty. Its first line, which \"audit init\" wrote, is missing.")
                }
                Output.result("\(lines)\(time), all genuine.")
                if let last = report.last { Output.result("Anchor of the last line: \(last)") }
            }
        }

        private static func anchor(_ text: String) throws -> AuditAnchor {
            guard let anchor = AuditAnchor(text) else {
                throw Failure.configuration("\"\(text)\" is not an anchor. An anchor has the form SEQ:MAC.")
            }
            return anchor
        }
    }
}
