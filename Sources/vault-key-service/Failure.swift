internal import ArgumentParser
internal import Foundation
internal import KeyServiceCore
internal import KeyServiceServer
internal import VaultBase
internal import VaultManual

/// A failure of the program: one line on standard error, and an exit code of `sysexits.h`.
struct Failure: Error {
    let message: String
    let exitCode: Int32

    /// What each exit status means, for people.
    static let statuses = ExitStatuses([
        (0, "done"), (1, "any other error"), (64, "wrong usage"), (65, "the audit log is damaged"),
        (66, "no such key"), (74, "output cannot be written, or the database cannot be used"), (75, "busy: try again"),
        (78, "wrong or missing configuration"),
    ])

    static func configuration(_ message: String) -> Failure {
        Failure(message: message, exitCode: 78)
    }

    static func damaged(_ message: String) -> Failure {
        Failure(message: message, exitCode: 65)
    }

    static func unusable(_ message: String) -> Failure {
        Failure(message: message, exitCode: 74)
    }

    /// A result that could not be written to standard output.
    static func unwritten(_ errorNumber: Int32) -> Failure {
        Failure(message: "The output could not be written: \(SystemError.words(errorNumber)).", exitCode: 74)
    }

    private init(message: String, exitCode: Int32) {
        self.message = message
        self.exitCode = exitCode
    }

    private init(_ error: any Error) {
        switch error {
        case let error as Failure: self = error
        case let error as KeyServiceServerError:
            let exitCode: Int32 =
                switch error.code {
                case .configurationInvalid, .rolledBack, .storeTooNew: 78
                case .noSuchKey: 66
                case .busy: 75
                case .storeUnusable: 74
                default: 1
                }
            let hint = error.remedy.map { " " + Self.hint(for: $0) } ?? ""
            self.init(message: error.description + hint, exitCode: exitCode)
        default: self.init(message: String(describing: error), exitCode: 1)
        }
    }

    /// Says an error to the operator, with what to type.
    static func words(_ error: any Error) -> String { Failure(error).message }

    private static let isInUnit = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"] != nil

    /// The program that an operator types. With systemd, the service has a user, folders and a master key of its own, and
    /// only another program runs a command with them.
    static let program = isInUnit ? "vault-key-service-operate" : "vault-key-service"

    /// The command that starts this version of the service.
    static let start = isInUnit ? "systemctl restart vault-key-service" : "vault-key-service serve"

    /// What to type: the libraries name no command.
    private static func hint(for remedy: Remedy) -> String {
        switch remedy {
        case .makeFolder: "Make it: \(program) init"
        case .restoreBackup:
            "Restore a backup (\(program) restore), or make a new data folder: \(program) init"
        case .makeAuditLog: "Make an audit log: \(program) audit init"
        case .nameAuditLog: "Add: --audit-log FILE. If that log is lost, see: \(program) audit add --help"
        case .addAuditLog:
            "Name the right one: --audit-log FILE. If that log is lost, add this one: \(program) audit add"
        case .replaceAuditLog: "Type: \(program) audit init. Then add it: \(program) audit add"
        case .nameVerificationKey: "Name the file that audit init wrote: --verification-key FILE"
        case .acceptRollback: "To go on, type: \(program) accept-rollback"
        case .nameMasterKey: "Name its file: --master-key-file FILE or --old-master-key-file FILE"
        case .restartServers:
            """
            Restart each server with --master-key-file NEW --old-master-key-file OLD. Then type this command again. \
            With PostgreSQL, a crashed server still counts as running for a minute.
            """
        case .checkClock: "Check the clock: timedatectl"
        case .copyMasterKey: "Type: \(program) init --master-key-file FILE"
        case .nameDatabase: "Start the service with --database-url. Other commands need it, too."
        case .finishMove(let folder): "Type: \(program) migrate-store --from sqlite:\(folder) --to URL"
        case .correctDatabase: "Correct the address in --database-url."
        case .install(let packages): "As root: apt install \(packages.joined(separator: " "))"
        case .makeTables: "Type: \(program) init"
        case .startThisVersion: "Type: \(start)"
        case .allowAsynchronousStandby: "To accept them, add: --allow-asynchronous-standby"
        case .nameTLSKey: "Name the file with the private key: --tls-key FILE"
        case .close(let path, let mode): "Close it: chmod \(mode) \(path)"
        }
    }

    /// Says why a listener could not start.
    static func listening(_ error: any Error, on configuration: KeyServiceServerConfiguration) -> Failure {
        let failure = error as? ListenFailure
        let (host, port) = (failure?.host ?? configuration.host, failure?.port ?? configuration.port)
        let address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        // Only the listener for health checks says that it is the one.
        let option = failure == nil ? "--listen" : "--health-listen"
        switch ListenFailure.errorNumber(of: failure?.underlying ?? error) {
        case EADDRINUSE:
            return .configuration(
                """
                Another program uses \(address). Name another address with \(option), or find that program: \
                ss -ltnp 'sport = :\(port)'
                """)
        case EADDRNOTAVAIL:
            return .configuration(
                "This machine has no address \(address). Name another address with \(option). See: ip address")
        case EACCES:
            return .configuration(
                "This user may not listen on \(address). Name a port above 1023 with \(option).")
        default: return .configuration("The service cannot run on \(address): \(error)")
        }
    }

    /// Runs a subcommand, and turns its errors into a message and an exit code.
    static func reporting(_ body: () async throws -> Void) async throws {
        do {
            try await body()
            try Output.requireWritten()
        } catch let error as ExitCode {
            throw error
        } catch {
            let failure = Failure(error)
            Output.error(failure.message)
            throw ExitCode(failure.exitCode)
        }
    }
}
