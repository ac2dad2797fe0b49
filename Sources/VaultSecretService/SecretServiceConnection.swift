internal import Foundation
internal import VaultBackground
internal import VaultBiometric
internal import VaultCrypto
internal import VaultDBus

/// A connection to the Secret Service (freedesktop.org Secret Service API 0.2), for one thread. Its calls throw
/// `BusError` or `BiometricError`.
final class SecretServiceConnection {
    private let bus: Bus

    private static let name = "org.freedesktop.secrets"
    private static let service = BusTarget(
        service: name, path: "/org/freedesktop/secrets", interface: "org.freedesktop.Secret.Service")
    private static let driver = BusTarget(
        service: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus")
    private static let schema = "credential-vault.unlock-method"
    private static let label = "Credential Vault"
    /// The most bytes of an item's text: more than 32 bytes in base64url need.
    private static let greatestSize = 64
    /// The path that stands for no object.
    private static let none = "/"

    /// - Parameters:
    ///   - busAddress: a D-Bus address; nil for the session bus.
    ///   - end: a signal that ends all waiting for the person.
    ///   - timeout: the time limit for the connection, and then for each answer.
    init(busAddress: String?, end: EventDescriptor, timeout: Duration) throws {
        let address = busAddress ?? ProcessInfo.processInfo.environment["DBUS_SESSION_BUS_ADDRESS"]
        if let address { try Self.requireLocal(address) }
        let library = try LibSystemd()
        do {
            bus = try Bus(
                library, to: busAddress.map { BusPlace.address($0) } ?? .session, end: end, timeout: timeout)
        } catch {
            guard error.number != ETIMEDOUT else { throw error }
            throw BiometricError(
                .hardwareMissing,
                "There is no desktop keyring here, because no message bus of a desktop can be reached. Use another "
                    + "unlock method.", underlying: error)
        }
    }

    private static func target(_ path: String, _ interface: String) -> BusTarget {
        BusTarget(service: name, path: path, interface: "org.freedesktop.Secret." + interface)
    }

    /// Secrets cross the bus as they are.
    private static func requireLocal(_ address: String) throws {
        guard address.split(separator: ";").allSatisfy({ $0.hasPrefix("unix:") }) else {
            throw BiometricError(
                .unavailable, "The message bus of the desktop is not a socket on this machine, so it gets no secrets.")
        }
    }

    // MARK: - The calls

    /// Checks that a secret, or without an id the default collection, is unlocked.
    func requireUnlocked(_ id: String?) throws {
        guard let id else {
            guard try !bus.flag(collection(), "Locked") else { throw BiometricError.keyringLocked }
            return
        }
        let found = try search(id)
        guard found.unlocked.isEmpty else { return }
        throw found.locked.isEmpty ? BiometricError.keyringSecretMissing : BiometricError.keyringLocked
    }

    func secrets(of id: String) throws -> [SharedSecret] {
        var found = try search(id)
        if found.unlocked.isEmpty, !found.locked.isEmpty {
            try unlock(found.locked)
            found = try search(id)
            guard !found.unlocked.isEmpty || found.locked.isEmpty else { throw BiometricError.keyringLocked }
        }
        guard !found.unlocked.isEmpty else { return [] }
        let session = try openSession()
        return try found.unlocked.compactMap { try secret(of: $0, session) }
    }

    /// Stores a secret as base64url, because some services take only text.
    func store(_ secret: SharedSecret, as id: String) throws {
        let collection = try collection()
        if try bus.flag(collection, "Locked") { try unlock([collection.path]) }
        let session = try openSession()
        let text = SharedSecret(try SecretBase64.encode(secret.bytes, .urlSafe))
        let answer = try bus.call(collection, "CreateItem", isSecret: true) { message throws(BusError) in
            try message.append(.array, of: "{sv}") { () throws(BusError) in
                try Self.append("Label", "s", to: message) { () throws(BusError) in
                    try message.append(.string(Self.label))
                }
                try Self.append("Attributes", "a{ss}", to: message) { () throws(BusError) in
                    try Self.append(attributesOf: id, to: message)
                }
            }
            try message.append(.structure, of: "oayays") { () throws(BusError) in
                try message.append(.path(session))
                try message.append(bytes: UnsafeRawBufferPointer(start: nil, count: 0))
                try text.bytes.withUnsafeBytes { bytes throws(BusError) in try message.append(bytes: bytes) }
                try message.append(.string("text/plain"))
            }
            // Another item with these attributes stays: the id is new.
            try message.append(.flag(false))
        }
        _ = try answer.readPath()
        try ask(answer.readPath())
    }

    /// Removes the secrets under an id that are unlocked. A question to the person is not worth it.
    func remove(_ id: String) throws {
        for path in try search(id).unlocked { _ = try bus.call(Self.target(path, "Item"), "Delete") }
    }

    // MARK: - The parts

    /// The default collection.
    private func collection() throws -> BusTarget {
        let path = try bus.call(Self.service, "ReadAlias", .string("default")).readPath()
        guard path != Self.none else {
            throw BiometricError(
                .unavailable,
                "The desktop has no default keyring yet. Make one with the desktop's program for passwords.")
        }
        return Self.target(path, "Collection")
    }

    private func search(_ id: String) throws(BusError) -> (unlocked: [String], locked: [String]) {
        let answer = try bus.call(Self.service, "SearchItems") { message throws(BusError) in
            try Self.append(attributesOf: id, to: message)
        }
        let unlocked = try answer.readPaths()
        let locked = try answer.readPaths()
        return (unlocked, locked)
    }

    /// Unlocks items or collections. The service may ask the person.
    private func unlock(_ paths: [String]) throws {
        let answer = try bus.call(Self.service, "Unlock") { message throws(BusError) in
            try message.append(.array, of: "o") { () throws(BusError) in
                for path in paths { try message.append(.path(path)) }
            }
        }
        _ = try answer.readPaths()
        try ask(answer.readPath())
    }

    /// Opens a session without encryption: see ``SecretService``.
    private func openSession() throws(BusError) -> String {
        let answer = try bus.call(Self.service, "OpenSession") { message throws(BusError) in
            try message.append(.string("plain"))
            try message.append(.variant, of: "s") { () throws(BusError) in try message.append(.string("")) }
        }
        try answer.skip("v")
        return try answer.readPath()
    }

    /// Returns nil if the item has something else than a secret of ours.
    private func secret(of path: String, _ session: String) throws -> SharedSecret? {
        let answer = try bus.call(Self.target(path, "Item"), "GetSecret", isSecret: true) { message throws(BusError) in
            try message.append(.path(session))
        }
        guard try answer.enter(.structure, of: "oayays") else { throw BusError(number: ENXIO) }
        try answer.skip("oay")
        // The bytes are part of the answer.
        let copy = try withExtendedLifetime(answer) { () throws -> SharedSecret? in
            let bytes = try answer.readBytes()
            return bytes.count <= Self.greatestSize ? SharedSecret(try SecretBytes(copying: bytes)) : nil
        }
        guard let text = copy else { return nil }
        do {
            return SharedSecret(try SecretBase64.decode(text.bytes, .urlSafe))
        } catch let error as VaultCryptoError where error.code == .invalidInput {
            return nil
        }
    }

    /// Lets the service ask the person in its window, and waits for the answer.
    ///
    /// - Parameter path: the path of the prompt; `/` for no question.
    private func ask(_ path: String) throws {
        guard path != Self.none else { return }
        let prompt = Self.target(path, "Prompt")
        // The subscriptions come before the question, so no answer is lost.
        try bus.subscribe(to: Self.driver, "NameOwnerChanged", "arg0='\(Self.name)'")
        try bus.subscribe(to: prompt, "Completed")
        let owner = try bus.call(Self.driver, "GetNameOwner", .string(Self.name)).readString()
        _ = try bus.call(prompt, "Prompt", .string(""))
        while let message = try bus.next() {
            if message.isSignal("NameOwnerChanged", of: Self.driver.interface, from: Self.driver.service) {
                // The service ended, and its window with it.
                throw BusError(number: ENOTCONN)
            }
            guard message.path == path, message.isSignal("Completed", of: prompt.interface, from: owner) else {
                continue
            }
            guard try !message.readFlag() else { throw BiometricError.keyringLocked }
            return
        }
        // The caller no longer waits, so the window must not stay.
        _ = try? bus.call(prompt, "Dismiss")
        throw CancellationError()
    }

    private static func append(
        _ property: String, _ type: String, to message: BusMessage, _ fill: () throws(BusError) -> Void
    ) throws(BusError) {
        try message.append(.entry, of: "sv") { () throws(BusError) in
            try message.append(.string("org.freedesktop.Secret.Item." + property))
            try message.append(.variant, of: type, fill)
        }
    }

    private static func append(attributesOf id: String, to message: BusMessage) throws(BusError) {
        try message.append(.array, of: "{ss}") { () throws(BusError) in
            for (name, value) in [("xdg:schema", schema), ("id", id)] {
                try message.append(.entry, of: "ss") { () throws(BusError) in
                    try message.append(.string(name))
                    try message.append(.string(value))
                }
            }
        }
    }
}
