internal import ArgumentParser
internal import KeyServiceAudit
internal import KeyServiceCore
internal import KeyServiceSQLite

struct MakeMasterKey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a new master key file, for rotate-master-key.")

    @Argument(help: ArgumentHelp("The file to write. It must not exist.", valueName: "file"))
    var file: String

    func run() async throws {
        try await Failure.reporting {
            let id = try MasterKey.create(path: file)
            Output.result("Made the master key \(id) in \(file).")
        }
    }
}

struct RotateMasterKey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Seal all keys under a new master key, while the service runs.",
        discussion: """
              vault-key-service make-master-key new.key
              vault-key-service serve --data DIR --master-key-file new.key --old-master-key-file master.key
              vault-key-service rotate-master-key --data DIR --master-key-file new.key --old-master-key-file master.key

            First restart each server with both files. The server can then open old and new keys. As long as a running \
            server lacks the new file, this command changes nothing. You can stop this command at any time. To go on, \
            type it again. The command says when no key in the database needs the old file any more. Older backups \
            still need the old file.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var audit: AuditOptions

    func run() async throws {
        try await common.operate(.operatorRotatesMasterKey, audit) { store in
            let masterKeys = try Settings(common).folder().masterKeys()
            var said = 0
            let outcome = try await MasterKeyRotation(store, masterKeys).run { count in
                guard count - said >= 10_000 else { return }
                said = count
                Output.error("\(count) keys are sealed.")
            }
            let sealed = outcome.resealed == 1 ? "1 key" : "\(outcome.resealed) keys"
            Output.result("Sealed \(sealed) under the master key \(masterKeys.current.id).")
            for id in outcome.removed {
                Output.result(
                    """
                    No key in the database needs the master key \(id) any more. Older backups still need this master key.
                    """)
            }
            if outcome.left > 0 {
                let left = outcome.left == 1 ? "1 key is" : "\(outcome.left) keys are"
                Output.result(
                    """
                    \(left) still sealed under another master key. Restart each server with the new \
                    master key, and type this command again.
                    """)
            }
            try outcome.requireUndamaged()
        }
    }
}

extension MasterKeyRotation.Outcome {
    /// - Throws: ``Failure`` that names the damaged records.
    func requireUndamaged() throws {
        guard !damaged.isEmpty else { return }
        let subject = damaged.count == 1 ? "1 record is" : "\(damaged.count) records are"
        throw Failure.unusable(
            """
            \(subject) damaged: \(damaged.joined(separator: ", ")). A damaged key opens no account. As long as it \
            exists, the servers need the old master key. To delete it: \(Failure.program) keys delete ID
            """)
    }
}
