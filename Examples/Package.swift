// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "Examples",
    dependencies: [.package(name: "credential-vault", path: "..")],
    targets: [
        .executableTarget(
            name: "OfflineReLogin",
            dependencies: [
                .product(name: "CredentialVault", package: "credential-vault"),
                .product(name: "VaultDevelopment", package: "credential-vault"),
            ]),
        .executableTarget(
            name: "SharedDesk", dependencies: [.product(name: "CredentialVault", package: "credential-vault")]),
        .testTarget(
            name: "SharedDeskTests",
            dependencies: ["SharedDesk", .product(name: "VaultTesting", package: "credential-vault")]),
    ],
    swiftLanguageModes: [.v6]
)
