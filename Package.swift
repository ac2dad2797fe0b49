// swift-tools-version: 6.3
import PackageDescription

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let asyncHTTPClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let grdbSQLite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let jwtKit: Target.Dependency = .product(name: "JWTKit", package: "jwt-kit")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTPTypes: Target.Dependency = .product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let systemPackage: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")

/// CredentialVault and the modules whose types it passes on. Swift compiles a target again only after a change of a
/// module that the target names.
let credentialVault: [Target.Dependency] = ["CredentialVault", "VaultAuth", "VaultStorage", "VaultUnlock"]

let networking: Set<String> = ["Networking"]

let package = Package(
    name: "credential-vault",
    products: [
        .library(name: "CredentialVault", targets: ["CredentialVault"]),
        .library(name: "VaultAuth", targets: ["VaultAuth"]),
        .library(name: "VaultStorage", targets: ["VaultStorage"]),
        .library(name: "VaultSQLite", targets: ["VaultSQLite"]),
        .library(name: "VaultUnlock", targets: ["VaultUnlock"]),
        .library(name: "VaultCrypto", targets: ["VaultCrypto"]),
        .library(name: "VaultBase", targets: ["VaultBase"]),
        .library(name: "VaultHTTP", targets: ["VaultHTTP"]),
        .library(name: "VaultNetworking", targets: ["VaultNetworking"]),
        .library(name: "KeyServiceClient", targets: ["KeyServiceClient"]),
        .library(name: "OpenIDConnect", targets: ["OpenIDConnect"]),
        .library(name: "VaultBiometric", targets: ["VaultBiometric"]),
        .library(name: "VaultBackends", targets: ["VaultBackends"]),
        .library(name: "VaultBackground", targets: ["VaultBackground"]),
        .library(name: "VaultLogind", targets: ["VaultLogind"]),
        .library(name: "VaultSecretService", targets: ["VaultSecretService"]),
        .library(name: "VaultObservation", targets: ["VaultObservation"]),
        .library(name: "VaultLifecycle", targets: ["VaultLifecycle"]),
        .library(name: "VaultTesting", targets: ["VaultTesting"]),
        .library(name: "VaultDevelopment", targets: ["VaultDevelopment"]),
        .library(name: "VaultTPM2", targets: ["VaultTPM2"]),
        .library(name: "VaultFIDO2", targets: ["VaultFIDO2"]),
        .library(name: "VaultPKCS11", targets: ["VaultPKCS11"]),
        .executable(name: "vault", targets: ["vault"]),
        .executable(name: "vault-command", targets: ["vault-command"]),
        .executable(name: "vault-key-service", targets: ["vault-key-service"]),
        .executable(name: "vault-dev", targets: ["vault-dev"]),
    ],
    traits: [
        .default(enabledTraits: networking),
        .trait(
            name: "Networking",
            description: "HTTP by async-http-client. An app with an HTTPTransport of its own builds faster without."),
        // Asking for one of these traits turns the default off, but the programs need the default.
        .trait(
            name: "TPM2", description: "A TPM 2.0 can protect an account. Needs tpm2-tss.", enabledTraits: networking),
        .trait(
            name: "FIDO2", description: "A FIDO2 security key can protect an account. Needs libfido2.",
            enabledTraits: networking),
        .trait(
            name: "PKCS11", description: "A PKCS#11 token can protect an account. Needs p11-kit.",
            enabledTraits: networking),
        .trait(
            name: "PostgreSQL", description: "The key service can keep its keys in PostgreSQL. Needs libpq.",
            enabledTraits: networking),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration.git", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-system.git", from: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift.git", exact: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit.git", from: "5.7.1"),
    ],
    targets: [
        // The C libraries. Both are linked dynamically, because their static libraries clash.
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
        // System calls that Swift does not import.
        .systemLibrary(name: "CLinux"),
        // A call of SQLite that Swift does not import. GRDB links SQLite.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // These libraries are opened when a program needs them first. The declarations of the first two are here. Only a
        // build that asks for the trait needs the headers of the others. pkg-config would link the libraries.
        .systemLibrary(name: "CQRCode"),
        .systemLibrary(name: "CSystemd"),
        .systemLibrary(name: "CTPM2"),
        .systemLibrary(name: "CFIDO2"),
        .systemLibrary(name: "CPKCS11"),
        .systemLibrary(name: "CPostgreSQL"),

        // The libraries, lowest first. A target imports only targets above it in this list.
        .target(name: "VaultBase"),
        .target(name: "VaultBackground", dependencies: ["CLinux", "VaultBase"]),
        .target(name: "VaultCrypto", dependencies: ["CSodium", "CArgon2", "VaultBase"]),
        .target(name: "KeyServiceAPI", dependencies: ["VaultBase", "VaultCrypto"]),
        .target(name: "VaultHTTP", dependencies: [httpTypes]),
        .target(
            name: "VaultNetworking",
            dependencies: ["VaultHTTP", "VaultBase", asyncHTTPClient, httpTypes, nioCore, nioHTTP1, nioPosix, nioSSL]),
        .target(
            name: "OpenIDConnect",
            dependencies: ["VaultHTTP", "VaultBase", httpTypes, crypto, cryptoExtras]),
        .target(
            name: "KeyServiceClient",
            dependencies: ["VaultBase", "KeyServiceAPI", "VaultHTTP", "VaultCrypto", httpTypes, logging]),
        .target(name: "VaultBiometric", dependencies: ["VaultCrypto", "VaultBase"]),
        .target(
            name: "VaultTPM2",
            dependencies: [
                "VaultBiometric", "VaultCrypto", "VaultBase", crypto,
                .target(name: "CTPM2", condition: .when(traits: ["TPM2"])),
            ]),
        .target(
            name: "VaultFIDO2",
            dependencies: [
                "VaultBiometric", "VaultCrypto", "VaultBase",
                .target(name: "CFIDO2", condition: .when(traits: ["FIDO2"])),
            ]),
        .target(
            name: "VaultPKCS11",
            dependencies: [
                "VaultBiometric", "VaultCrypto", "VaultBase", crypto, cryptoExtras,
                .target(name: "CPKCS11", condition: .when(traits: ["PKCS11"])),
            ]),
        .target(name: "VaultStorage", dependencies: ["VaultBase", "VaultCrypto", logging]),
        .target(
            name: "VaultSQLite", dependencies: ["CLinux", "CSQLite", "VaultCrypto", "VaultBase", "VaultStorage", grdb]),
        .target(
            name: "VaultUnlock",
            dependencies: [
                "KeyServiceClient", "VaultBase", "VaultBiometric", "VaultCrypto", "VaultHTTP", "VaultStorage", logging,
            ]),
        .target(
            name: "VaultAuth",
            dependencies: [
                "OpenIDConnect", "VaultBackground", "VaultUnlock", "VaultStorage", "VaultBiometric", "KeyServiceClient",
                "VaultCrypto",
                "VaultHTTP", "VaultBase", logging,
            ]),
        .target(
            name: "VaultBackends",
            dependencies: [
                "OpenIDConnect", "VaultAuth", "VaultCrypto", "VaultHTTP", "VaultBase", "VaultUnlock", "VaultStorage",
                httpTypes,
            ]),
        // The message bus, for the two mechanisms that need one.
        .target(name: "VaultDBus", dependencies: ["CSystemd", "VaultBackground", "VaultBase"]),
        .target(name: "VaultLogind", dependencies: ["VaultDBus", "VaultBackground", "VaultBase"]),
        .target(
            name: "VaultSecretService",
            dependencies: ["VaultDBus", "VaultBiometric", "VaultBackground", "VaultCrypto"]),
        // The agent's protocol for the small program "vault". It has no Foundation, so the program starts fast.
        .target(name: "VaultAgentProtocol", dependencies: ["CLinux"]),
        .target(
            name: "VaultAgent",
            dependencies: [
                "CLinux", "KeyServiceClient", "OpenIDConnect", "VaultAgentProtocol", "VaultAuth", "VaultCrypto",
                "VaultBase",
                "VaultUnlock", "VaultStorage",
            ]),
        .target(
            name: "CredentialVault",
            dependencies: [
                "VaultBase", "VaultAgent", "VaultAuth", "VaultBackends", "VaultBackground", "VaultUnlock",
                "VaultStorage",
                "VaultBiometric",
                "OpenIDConnect",
                "KeyServiceClient", "VaultCrypto", "VaultHTTP", "VaultSQLite", logging,
                .target(name: "VaultNetworking", condition: .when(traits: networking)),
            ]),
        // For apps: what a window shows, and a service that stops with the app.
        .target(name: "VaultObservation", dependencies: credentialVault),
        .target(name: "VaultLifecycle", dependencies: credentialVault + [serviceLifecycle]),
        // The key service: its rules, a store each, the audit log, and what serves them.
        .target(name: "KeyServiceCore", dependencies: ["CLinux", "KeyServiceAPI", "VaultCrypto", "VaultBase", crypto]),
        .target(
            name: "KeyServiceSQLite",
            dependencies: ["CLinux", "CSQLite", "KeyServiceCore", "VaultCrypto", "VaultBase", grdb, grdbSQLite]),
        .target(
            name: "KeyServicePostgreSQL",
            dependencies: [
                "KeyServiceCore", "VaultBase",
                .target(name: "CPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
            ]),
        .target(
            name: "KeyServiceAudit",
            dependencies: ["KeyServiceCore", "VaultCrypto", "VaultBase", crypto, logging]),
        .target(
            name: "KeyServiceServer",
            dependencies: [
                "KeyServiceAPI", "KeyServiceAudit", "KeyServiceCore", "VaultCrypto", "VaultBase",
                hummingbird, hummingbirdCore, httpTypes, logging, nioCore, nioHTTP1, nioHTTPTypes, nioPosix, nioSSL,
                coreMetrics, serviceLifecycle,
            ],
            resources: [.embedInCode("openapi.json")]),
        .target(
            name: "VaultTesting",
            dependencies: [
                "KeyServiceClient", "OpenIDConnect", "VaultAuth", "VaultBiometric", "VaultCrypto", "VaultHTTP",
                "VaultBase",
                "VaultUnlock", "VaultStorage", httpTypes,
            ]),
        .target(
            name: "VaultDevelopment",
            dependencies: [
                "VaultAuth", "VaultBase", hummingbird, jwtKit, crypto, logging, serviceLifecycle, httpTypes,
                asyncHTTPClient, nioCore, nioPosix, nioHTTP1,
            ]),

        // The programs.
        // Man pages, made from the commands' help.
        .target(name: "VaultManual", dependencies: [argumentParser]),
        .target(
            name: "VaultCommands",
            dependencies: credentialVault + [
                "CLinux", "CQRCode", "VaultAgent", "VaultAgentProtocol", "VaultBase", "VaultLogind", "VaultManual",
                "VaultSecretService", "VaultSQLite", argumentParser, configuration, logging,
                systemPackage,
                .target(name: "VaultTPM2", condition: .when(traits: ["TPM2"])),
                .target(name: "VaultFIDO2", condition: .when(traits: ["FIDO2"])),
                .target(name: "VaultPKCS11", condition: .when(traits: ["PKCS11"])),
            ]),
        // The small program that people start. It becomes the program with all commands.
        .executableTarget(
            name: "vault", dependencies: ["CLinux", "VaultAgentProtocol"],
            // Without shared libraries, vault starts in half the time.
            linkerSettings: [.unsafeFlags(["-static-executable"], .when(configuration: .release))]),
        .executableTarget(name: "vault-command", dependencies: ["VaultCommands"]),
        .executableTarget(
            name: "vault-key-service",
            dependencies: [
                "KeyServiceAudit", "KeyServiceCore", "KeyServiceServer", "KeyServiceSQLite", "CLinux", "OpenIDConnect",
                "VaultBase", "VaultManual", argumentParser, coreMetrics, logging, serviceLifecycle,
                unixSignals,
                .target(name: "VaultNetworking", condition: .when(traits: networking)),
                .target(name: "KeyServicePostgreSQL", condition: .when(traits: ["PostgreSQL"])),
            ]),
        .executableTarget(
            name: "vault-dev",
            dependencies: [
                "VaultDevelopment", "KeyServiceCore", "KeyServiceServer", "KeyServiceSQLite", "VaultBase",
                argumentParser, hummingbird, logging,
                serviceLifecycle, unixSignals,
            ]),

        // Helpers for the tests of several targets. These tests need not wait for everything that VaultTesting imports.
        .target(
            name: "TestSupport", dependencies: ["VaultBiometric", "VaultCrypto", "VaultBase"],
            path: "Tests/TestSupport"),

        // Stores with example accounts, and ways to damage them. Several test targets use them.
        .target(
            name: "VaultStorageTestSupport",
            dependencies: [
                "VaultCrypto", "KeyServiceClient", "VaultStorage", "VaultSQLite", "VaultUnlock", "VaultTesting", grdb,
            ],
            path: "Tests/VaultStorageTestSupport"),

        // The network and the browser of an app that signs in.
        .target(
            name: "VaultAuthTestSupport",
            dependencies: ["VaultBase", "VaultHTTP", "VaultNetworking", "VaultAuth", "VaultDevelopment", httpTypes],
            path: "Tests/VaultAuthTestSupport"),

        // A store of the key service in memory.
        .target(
            name: "KeyServiceTestSupport", dependencies: ["KeyServiceCore", "VaultBase"],
            path: "Tests/KeyServiceTestSupport"),

        // The program that Tests/Benchmarks/tpm2.py measures.
        .executableTarget(
            name: "vault-tpm2-benchmark", dependencies: ["VaultTPM2", "VaultBiometric", "VaultCrypto"],
            path: "Tests/Benchmarks/vault-tpm2-benchmark"),

        // The program that Tests/Benchmarks/pkcs11.py measures.
        .executableTarget(
            name: "vault-pkcs11-benchmark",
            dependencies: [
                "VaultPKCS11", "VaultBiometric", "VaultCrypto", "VaultBase",
                .target(name: "CPKCS11", condition: .when(traits: ["PKCS11"])),
            ],
            path: "Tests/Benchmarks/vault-pkcs11-benchmark"),

        // The measurements of Tests/Benchmarks/run.sh inside the library.
        .executableTarget(
            name: "vault-benchmarks",
            dependencies: [
                "CredentialVault", "VaultAgentProtocol", "VaultBase", "VaultCrypto", "VaultDevelopment", "VaultTesting",
            ],
            path: "Tests/Benchmarks/vault-benchmarks"),

        // The tests. Tests/EndToEnd has the tests that run the programs from outside.
        .testTarget(name: "VaultCryptoTests", dependencies: ["VaultBase", "VaultCrypto", "TestSupport"]),
        .testTarget(
            name: "OpenIDConnectTests",
            dependencies: [
                "OpenIDConnect", "VaultHTTP", "VaultNetworking", "VaultBase", "TestSupport", jwtKit, crypto, httpTypes,
                nioCore, nioHTTP1, nioPosix,
            ]),
        .testTarget(
            name: "VaultBackgroundTests", dependencies: ["VaultBackground", "VaultBase"]),
        .testTarget(
            name: "VaultNetworkingTests",
            dependencies: ["VaultNetworking", "VaultHTTP", "VaultBase", "TestSupport", httpTypes, nioCore, nioPosix]),
        .testTarget(
            name: "KeyServiceServerTests",
            dependencies: [
                "KeyServiceAPI", "KeyServiceAudit", "KeyServiceCore", "KeyServiceServer", "KeyServiceSQLite",
                "KeyServiceTestSupport", "KeyServiceClient", "VaultCrypto", "VaultHTTP", "VaultBase",
                "vault-key-service",
                coreMetrics, grdb, httpTypes, hummingbird,
                .product(name: "HummingbirdTesting", package: "hummingbird"), logging, nioCore, serviceLifecycle,
            ]),
        // What all stores of the key service do alike, and what only PostgreSQL does.
        .testTarget(
            name: "KeyServiceStoreTests",
            dependencies: [
                "KeyServiceCore", "KeyServiceSQLite", "KeyServiceTestSupport", "VaultCrypto", "VaultBase",
                .target(name: "KeyServicePostgreSQL", condition: .when(traits: ["PostgreSQL"])),
            ]),
        .testTarget(
            name: "VaultDevelopmentTests",
            dependencies: [
                "VaultDevelopment", "VaultTesting", "vault-dev", asyncHTTPClient, crypto, hummingbird, jwtKit, logging,
                nioCore, nioHTTP1, nioPosix,
            ]),
        .testTarget(
            name: "VaultStorageTests",
            dependencies: [
                "VaultStorage", "VaultUnlock", "VaultSQLite", "VaultTesting", "VaultBiometric", "VaultCrypto",
                "VaultBase", "VaultStorageTestSupport", "TestSupport", grdb,
            ]),
        .testTarget(
            name: "VaultUnlockTests",
            dependencies: [
                "VaultUnlock", "VaultStorage", "VaultSQLite", "VaultTesting", "VaultBiometric", "VaultCrypto",
                "VaultHTTP", "VaultBase", "KeyServiceClient", "KeyServiceAPI", "VaultStorageTestSupport", "TestSupport",
                grdb, httpTypes,
            ]),
        .testTarget(
            name: "VaultAuthTests",
            dependencies: [
                "VaultAuth", "VaultUnlock", "VaultBackground", "VaultDevelopment", "VaultTesting", "CredentialVault",
                "VaultHTTP", "VaultBase", "KeyServiceClient", "KeyServiceCore", "KeyServiceSQLite",
                "KeyServiceTestSupport", "VaultAuthTestSupport", "TestSupport", httpTypes, logging,
            ]),
        .testTarget(
            name: "VaultBackendsTests",
            dependencies: [
                "VaultBackends", "VaultAuth", "OpenIDConnect", "VaultDevelopment", "VaultTesting", "CredentialVault",
                "VaultBase", "VaultAuthTestSupport", "TestSupport", httpTypes,
            ]),
        .testTarget(
            name: "VaultAgentTests",
            dependencies: [
                "OpenIDConnect", "VaultAgent", "VaultAgentProtocol", "VaultAuth", "VaultCrypto", "VaultHTTP",
                "VaultBase", "VaultUnlock", "VaultStorage", "VaultTesting", "TestSupport",
                httpTypes,
            ]),
        .testTarget(name: "VaultCommandsTests", dependencies: ["VaultCommands"] + credentialVault),
        .testTarget(
            name: "VaultObservationTests", dependencies: ["VaultObservation", "VaultTesting"] + credentialVault),
        .testTarget(
            name: "VaultLifecycleTests",
            dependencies: [
                "VaultLifecycle", "CredentialVault", "VaultStorage", "VaultTesting", "TestSupport", serviceLifecycle,
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "VaultBiometricTests",
            dependencies: ["VaultBiometric", "VaultCrypto", "VaultTesting", "TestSupport"]),
        .testTarget(
            name: "VaultSecretServiceTests",
            dependencies: ["VaultSecretService", "VaultBiometric", "VaultCrypto", "VaultBase", "TestSupport"],
            exclude: ["mock_secrets.py"]),
        .testTarget(
            name: "VaultTPM2Tests",
            dependencies: [
                "VaultTPM2", "VaultBiometric", "VaultCrypto", "VaultBase", "TestSupport",
                .target(name: "CTPM2", condition: .when(traits: ["TPM2"])),
            ]),
        .testTarget(
            name: "VaultFIDO2Tests",
            dependencies: [
                "VaultFIDO2", "VaultBiometric", "VaultCrypto", "VaultBase", "TestSupport", crypto, cryptoExtras,
            ],
            exclude: ["Recordings"]),
        .testTarget(
            name: "VaultPKCS11Tests",
            dependencies: [
                "VaultPKCS11", "VaultBiometric", "VaultCrypto", "VaultBase", "TestSupport",
                .target(name: "CPKCS11", condition: .when(traits: ["PKCS11"])),
            ]),
        .testTarget(
            name: "VaultLogindTests",
            dependencies: [
                "VaultLogind", "VaultDBus", "VaultBackground", "VaultBase", "VaultTesting", "TestSupport",
            ],
            exclude: ["mock_logind.py"]),
    ],
    swiftLanguageModes: [.v6]
)

// The readers that Tests/Fuzzing/run.sh fuzzes. The ordinary tests read all its inputs. No package may depend on the
// flags of the fuzzer, so the fuzzer is built only on request.
let fuzzed: [Target.Dependency] = [
    "KeyServiceClient", "KeyServiceAPI", "KeyServiceAudit", "KeyServiceCore", "KeyServiceServer", "OpenIDConnect",
    "VaultAgentProtocol", "VaultBiometric",
    "VaultCrypto", "VaultFIDO2", "VaultHTTP", "VaultBase", "VaultNetworking", "VaultPKCS11", "VaultUnlock",
    "VaultStorage",
    "VaultTPM2",
    hummingbird, httpTypes, nioCore,
    .target(name: "CTPM2", condition: .when(traits: ["TPM2"])),
    .target(name: "CPKCS11", condition: .when(traits: ["PKCS11"])),
]
/// The path of the fuzzer's library, or nil without fuzzing.
let libFuzzer = Context.environment["CREDENTIAL_VAULT_FUZZING"]
if let libFuzzer {
    package.targets += [
        .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzzing/CLibFuzzer"),
        .executableTarget(
            name: "vault-fuzz", dependencies: fuzzed + ["CLibFuzzer"], path: "Tests/Fuzzing",
            exclude: ["CLibFuzzer", "FuzzingTests", "Seeds", "run.sh"], sources: ["Driver", "Targets"],
            linkerSettings: [.unsafeFlags(["-use-ld=lld", "-Xlinker", libFuzzer, "-lstdc++"])]),
    ]
} else {
    package.targets.append(
        .testTarget(
            name: "FuzzingTests", dependencies: fuzzed, path: "Tests/Fuzzing",
            exclude: ["CLibFuzzer", "Driver", "Seeds", "run.sh"], sources: ["FuzzingTests", "Targets"]))
}

/// The test target that `Tests/run.sh quick` builds alone, with only the targets that it needs; nil for all targets.
if let only = Context.environment["CREDENTIAL_VAULT_ONLY"] {
    var needed: Set<String> = []
    func need(_ name: String) {
        guard let target = package.targets.first(where: { $0.name == name }), needed.insert(name).inserted else {
            return
        }
        for dependency in target.dependencies {
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): need(name)
            default: break
            }
        }
    }
    need(only)
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll()
}

for target in package.targets where [.regular, .executable, .test].contains(target.type) {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("MemberImportVisibility"),
            .enableUpcomingFeature("InternalImportsByDefault"),
        ]
    if libFuzzer != nil { target.swiftSettings?.append(.unsafeFlags(["-sanitize=fuzzer"])) }
    // Set during this package's development. A warning of a later compiler must not stop the package's users.
    if Context.environment["CREDENTIAL_VAULT_STRICT"] != nil {
        target.swiftSettings?.append(.treatAllWarnings(as: .error))
    }
}
