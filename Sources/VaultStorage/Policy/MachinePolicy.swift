internal import VaultBase

// The policy that an administrator sets for every program on the machine that opens a `Vault`.
extension VaultPolicy {
    /// The path of the machine's policy: `/etc/credential-vault/policy.json`.
    public static let machineFile = "/etc/credential-vault/policy.json"

    /// Reads the machine's policy.
    ///
    /// The file is a JSON object. A missing name sets no limit. The names are `minimum-pin-length` and
    /// `minimum-password-length` (characters), `maximum-offline-days`, `maximum-idle-minutes`, `maximum-session-hours`,
    /// `allowed-unlock-methods` and `forbidden-unlock-methods` (lists of unlock methods), `allowed-issuers` and
    /// `allowed-key-services` (lists of URLs), `key-service-protocol` (1 or 2), `key-service-keys` (a list of one or
    /// two identity keys), `revocation-check-hours`, and `require-key-service` (true or false). The file and its folder
    /// must belong to root. Nobody else may write them.
    ///
    /// - Returns: nil if there is no file.
    /// - Throws: ``VaultError`` with code `configurationInvalid`. The text says what is wrong with the file.
    public static func ofMachine() throws -> VaultPolicy? { try ofMachine(file: machineFile, owner: 0) }

    /// As ``ofMachine()``.
    ///
    /// - Parameter owner: the user id that must own the file and its folder.
    package static func ofMachine(file: String, owner: UInt32) throws -> VaultPolicy? {
        guard let bytes = try policyFile(file, owner: owner).read() else { return nil }
        return try VaultPolicy(json: bytes, from: file)
    }

    /// - Parameter path: the file that the JSON is from, for the text of an error.
    package init(json: [UInt8], from path: String) throws {
        let file = Self.policyFile(path)
        guard case .object(let members)? = JSONValue(strictObjectIn: json) else {
            throw file.unusable("It is not one JSON object, or it has a name twice.")
        }
        self.init(minimumPINLength: 0, minimumPasswordLength: 0)
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let rule = PolicyRule.all.first(where: { $0.name == name }) else {
                throw file.unusable("This program does not know the name \(name.debugDescription).")
            }
            do { try rule.read(value, &self) } catch {
                throw file.unusable("\(name) has to be \(error.rule)", detail: error.detail)
            }
        }
    }

    private static func policyFile(_ path: String, owner: UInt32 = 0) -> MachineFile {
        MachineFile(path: path, owner: owner, kind: "policy file")
    }
}
