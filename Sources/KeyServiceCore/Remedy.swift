/// What helps against an error of the key service, as a value. The libraries of the service name no command and no
/// option, because another program may use them. The program turns a remedy into what to type.
package enum Remedy: Hashable, Sendable {
    /// Make a new data folder.
    case makeFolder
    /// Restore a backup, or make a new data folder.
    case restoreBackup
    case makeAuditLog
    /// Name the audit log that the service writes.
    case nameAuditLog
    /// Name the audit log that the service writes. If it is lost, add this one.
    case addAuditLog
    /// Move the files of the damaged audit log away, then make a new one.
    case replaceAuditLog
    /// Name the file of the audit log's verification key.
    case nameVerificationKey
    /// Accept the older database, if its reason is known.
    case acceptRollback
    /// Name the file of the missing master key.
    case nameMasterKey
    /// Restart each server with the new master key and the old one.
    case restartServers
    /// Check the clock of the machine.
    case checkClock
    /// Copy the master key's file from the other machine, then name it.
    case copyMasterKey
    /// Use the database to which the keys were moved.
    case nameDatabase
    /// Finish the move of the keys from this data folder.
    case finishMove(folder: String)
    /// Correct the address of the database.
    case correctDatabase
    /// Install these packages of Debian.
    case install(packages: [String])
    /// Make the tables in the database.
    case makeTables
    /// Start this version of the service, which changes the database.
    case startThisVersion
    /// Accept more guesses after a failover.
    case allowAsynchronousStandby
    /// Name the file of the private key for TLS.
    case nameTLSKey
    /// Close the file or folder at `path` to other users, with this mode, in octal.
    case close(path: String, mode: String)
}
