internal import ArgumentParser
internal import Foundation
internal import KeyServiceAudit

struct Audit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make and verify an audit log. Nobody can change its earlier lines unseen.",
        discussion: """
              vault-key-service audit init --audit-log audit.log --verification-key audit.key
              vault-key-service serve --data keys --audit-log audit.log
              vault-key-service audit verify --audit-log audit.log --verification-key audit.key

            Each line has a MAC. The key of the MAC is gone before the line is in the file. So a thief who takes over \
            the machine cannot change earlier lines unseen. Keep the verification key on another machine. Do not back \
            up the state file (audit.log.state): a thief could use the copy to forge later lines.
            """,
        subcommands: [Init.self, Verify.self, Anchor.self, Add.self])

    struct Init: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a new audit log and its verification key.",
            discussion: """
                Type this on the machine where you keep the verification key. The key then never touches the disk of \
                the service:

                  (umask 077; ssh keys.example.com vault-key-service audit init --audit-log audit.log \
                --verification-key - > ~/audit.key)
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var audit: AuditOptions

        @Option(
            help: ArgumentHelp(
                "The new file for the verification key; - for standard output. Move it to another machine.",
                valueName: "file"))
        var verificationKey: String

        func run() async throws {
            try await Failure.reporting {
                let settings = try Settings(common)
                let path = try audit.requiredPath(settings)
                let target = verificationKey
                _ = try AuditWriter.create(path: path, instance: audit.name(settings)) { key in
                    guard target == "-" else { return try key.save(path: target) }
                    guard try key.write(to: STDOUT_FILENO) else {
                        throw Failure.configuration("The verification key cannot be written to standard output.")
                    }
                }
                guard target != "-" else { return }
                Output.result("Made \(path). Move \(target) to another machine: it can forge the log.")
            }
        }
    }

    struct Anchor: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the anchor of the newest line.",
            discussion: """
                Keep anchors on another machine. audit verify --anchor then shows if somebody cut off the end of the \
                log. The server also writes an anchor to its ordinary log at its start, every ten minutes, and at its \
                end.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var audit: AuditOptions

        func run() async throws {
            try await Failure.reporting {
                let settings = try Settings(common)
                let writer = try AuditWriter(path: audit.requiredPath(settings), instance: audit.name(settings))
                if let anchor = try writer.anchor() { Output.result(anchor.description) }
            }
        }
    }
}
