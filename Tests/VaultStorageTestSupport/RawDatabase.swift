internal import Foundation
package import GRDB

/// Access to the database without its rules.
package enum Raw {
    package static func execute(_ folder: String, _ sql: String, _ arguments: StatementArguments = []) throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        let database = try DatabaseQueue(path: folder + "/vault.sqlite", configuration: configuration)
        try database.write { try $0.execute(sql: sql, arguments: arguments) }
        try database.close()
    }

    private static func read<T>(_ folder: String, _ body: (Database) throws -> T) throws -> T {
        let database = try DatabaseQueue(path: folder + "/vault.sqlite")
        defer { try? database.close() }
        return try database.read(body)
    }

    package static func value(_ folder: String, _ table: String, _ column: String) throws -> DatabaseValue {
        try read(folder) { try DatabaseValue.fetchOne($0, sql: "SELECT \(column) FROM \(table)") } ?? .null
    }

    package static func set(_ folder: String, _ table: String, _ column: String, _ value: DatabaseValue) throws {
        try execute(folder, "UPDATE \(table) SET \(column) = ?", [value])
    }

    /// Lets every column hold any value, as disk damage can.
    package static func dropRules(_ folder: String) throws {
        let database = try DatabaseQueue(path: folder + "/vault.sqlite")
        try database.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_schema SET sql = replace(replace(sql, 'NOT NULL', ''), ') STRICT', ')')
                        WHERE name IN ('account', 'keyslot');
                    PRAGMA writable_schema = RESET
                    """)
        }
        try database.close()
    }

    /// All rows of all tables.
    package static func everything(_ folder: String) throws -> [[String]] {
        try read(folder) { db in
            try ["account", "keyslot", "item", "chunk", "grdb_migrations"].map { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map(\.description)
            }
        }
    }

    /// Some bits from the start, the middle and the end.
    package static func bitsToFlip(of value: DatabaseValue) -> [Int] {
        if case .int64 = value.storage { return [0, 1, 7, 20, 33, 62, 63] }
        let count = bytes(of: value).count * 8
        // The highest bit of a byte of text would make the text invalid UTF-8.
        return [0, 3, count / 2, count - 4, count - 2]
    }

    package static func flipping(_ bit: Int, of value: DatabaseValue) -> DatabaseValue {
        if case .int64(let number) = value.storage { return (number ^ (1 << bit)).databaseValue }
        var bytes = bytes(of: value)
        bytes[bit / 8] ^= 1 << (bit % 8)
        if case .string = value.storage { return String(decoding: bytes, as: UTF8.self).databaseValue }
        return bytes.databaseValue
    }

    private static func bytes(of value: DatabaseValue) -> Data {
        switch value.storage {
        case .string(let text): Data(text.utf8)
        case .blob(let data): data
        default: Data()
        }
    }
}
