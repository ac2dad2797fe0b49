internal import CredentialVault
internal import Foundation
internal import VaultBase

extension Table {
    /// The devices for people.
    init(_ devices: [AccountDevice]) {
        rows =
            [["ID", "NAME", "KEYS OF", "MADE", "LAST USED", "LOCKED"]]
            + devices.map { device in
                [
                    device.shortID(in: devices), device.label + (device.isThisDevice ? " (this device)" : ""),
                    device.unlockMethods.joined(separator: ", "), device.createdAt.localText,
                    device.lastUsedAt?.localText ?? "-", device.lockedMethods,
                ]
            }
    }
}

extension AccountDevice {
    /// The least number of digits of an id.
    private static let shortest = 8

    /// The first digits of the id: as many as no other device has.
    func shortID(in all: [AccountDevice]) -> String {
        let others = all.filter { $0.id != id }
        let count = (Self.shortest..<id.count).first { count in
            !others.contains { $0.id.hasPrefix(id.prefix(count)) }
        }
        return String(id.prefix(count ?? id.count))
    }

    /// The name for people; nil if it is not known.
    var shownName: String? { name.map(Printable.text) }

    var label: String { shownName ?? "unknown device" }

    /// The kinds of unlock methods, each once.
    var unlockMethods: [String] {
        var kinds: [String] = []
        for key in keys {
            let kind = key.kind.map { Printable.text($0.rawValue) } ?? "unknown"
            if !kinds.contains(kind) { kinds.append(kind) }
        }
        return kinds
    }

    /// The unlock methods without guesses. Those that only the other machine can name are counted.
    var lockedMethods: String {
        if isLocked { return "yes" }
        let locked = keys.filter(\.isLocked)
        let unknown = locked.count { $0.kind == nil }
        let names = locked.compactMap { $0.kind.map { Printable.text($0.rawValue) } }
        let all = names + (unknown > 0 ? ["\(unknown) of \(keys.count)"] : [])
        return all.isEmpty ? "no" : all.joined(separator: ", ")
    }
}

/// A device in JSON.
struct DeviceReport: Encodable {
    struct Key: Encodable {
        let id: String
        let kind: String?
        let createdAt: Date
        let lastUsedAt: Date?
        let locked: Bool
    }

    let id: String
    let name: String?
    let thisDevice: Bool
    let createdAt: Date
    let lastUsedAt: Date?
    let locked: Bool
    let keys: [Key]

    init(_ device: AccountDevice) {
        id = device.id
        name = device.name
        thisDevice = device.isThisDevice
        createdAt = device.createdAt
        lastUsedAt = device.lastUsedAt
        locked = device.isLocked
        keys = device.keys.map {
            Key(
                id: $0.id, kind: $0.kind?.rawValue, createdAt: $0.createdAt, lastUsedAt: $0.lastUsedAt,
                locked: $0.isLocked)
        }
    }
}
