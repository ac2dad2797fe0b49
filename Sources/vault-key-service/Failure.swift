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
            self.init(message: error.description, exitCode: exitCode)
        default: self.init(message: String(describing: error), exitCode: 1)
        }
    }

    /// Says why a listener could not start.
    static func listening(_ error: any Error, on configuration: KeyServiceServerConfiguration) -> Failure {
        let failure = error as? ListenFailure
        let (host, port) = (failure?.host ?? configuration.host, failure?.port ?? configuration.port)
        let address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        let option = failure?.option ?? "--listen"
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
