internal import ArgumentParser
internal import Foundation
internal import KeyServiceAudit
internal import KeyServiceCore
internal import KeyServiceSQLite

struct Identity: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show or change the key that proves to clients who made their keys.",
        discussion: """
              vault-key-service identity show --data DIR
              vault-key-service identity rotate --data DIR

            Each answer to a request for a new key is signed with the identity key. A client remembers the public key at \
            its first request, and makes no key at another service. To leave nothing to the first request, write the \
            public key into the setting or policy key-service-keys of the clients.
            """,
        subcommands: [Show.self, Rotate.self])

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the public key and its fingerprint.")

        @OptionGroup var common: CommonOptions
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            try await common.operate(toRead: true) { store in
                guard let identity = try await store.identity(Settings(common).folder().masterKeys()) else {
                    throw Failure.configuration(
                        "The service has no identity key yet. It makes one at its next start: \(Failure.start)")
                }
                try Report(identity).print(asJSON: json)
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a new identity key, which the old one signs. The service may run.",
            discussion: """
                Clients that know the old key follow to the new one. Running servers use the new key within a second. \
                Make a backup afterwards: if the database is lost and an older backup is restored, clients that know the new key make no keys.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var audit: AuditOptions
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            try await common.operate(.operatorRotatesIdentity, audit) { store in
                let masterKeys = try Settings(common).folder().masterKeys()
                try Report(await store.rotateIdentity(masterKeys)).print(asJSON: json)
            }
        }
    }

    /// An identity as it is printed.
    private struct Report: Encodable {
        let publicKey: String
        let fingerprint: String
        let earlierKeys: Int

        init(_ identity: IdentityKey) {
            (publicKey, fingerprint) = (identity.publicKey, identity.fingerprint)
            earlierKeys = identity.earlierKeys
        }

        func print(asJSON isJSON: Bool) throws {
            guard isJSON else { return Output.result("\(publicKey)\nfingerprint \(fingerprint)") }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            Output.result(String(decoding: try encoder.encode(self), as: UTF8.self))
        }
    }
}
