extension VaultError {
    /// The exact situation, where one code stands for several. A program that has a remedy of its own for a situation
    /// can offer it: its own command, or the right page of its settings. New details may be added, so a `switch` over
    /// them needs a `default`.
    public struct Detail: Hashable, Sendable {
        /// The detail as a word, stable across versions.
        public let name: String

        package init(name: String) { self.name = name }

        // MARK: - Accounts and sessions

        /// No account has the name that was asked for. Show the accounts.
        public static let nameUnknown = Detail(name: "nameUnknown")
        /// The account is not on this machine. Register it.
        public static let notRegistered = Detail(name: "notRegistered")
        /// The account's session is not open. ``VaultError/value`` is the account's name, if it is known. Show the
        /// login.
        public static let sessionClosed = Detail(name: "sessionClosed")
        /// The account has no refresh token on this machine. Register it again.
        public static let noRefreshToken = Detail(name: "noRefreshToken")
        /// The provider refused the account's token for good at an earlier call (`Account.refusedAt`), so it was not asked
        /// now. ``VaultError/value`` is the account's name. If the provider may have been wrong, open the account and call
        /// `Session.accessToken(forceRefresh:minimumValidity:)` with `forceRefresh`.
        public static let refusalNoted = Detail(name: "refusalNoted")
        /// Nothing else opens the account: there is no other unlock method, or the key service refused every
        /// unlock method. Register the account again.
        public static let noOtherMethod = Detail(name: "noOtherMethod")
        /// The account has no unlock method of the kind ``VaultError/unlockMethod``. Add it, or use another one.
        public static let keyslotMissing = Detail(name: "keyslotMissing")
        /// The unlock method was removed meanwhile. Show the unlock methods again.
        public static let keyslotRemoved = Detail(name: "keyslotRemoved")
        /// A stored keyslot is damaged. Use another unlock method.
        public static let keyslotDamaged = Detail(name: "keyslotDamaged")

        /// This needs a key service, or the policy does, and the account has none. ``VaultError/value`` is the
        /// account's name, if it is known. Move the account to a key service.
        public static let noKeyService = Detail(name: "noKeyService")

        // MARK: - The agent

        /// No agent runs. Show the login.
        public static let noAgent = Detail(name: "noAgent")
        /// An agent runs already. Use that one.
        public static let agentRuns = Detail(name: "agentRuns")
        /// The agent does not answer. Try again. If it still does not answer, end it.
        public static let agentSilent = Detail(name: "agentSilent")
        /// The agent is of another version than this program. End the agent, and log in again.
        public static let agentOfOtherVersion = Detail(name: "agentOfOtherVersion")
        /// Another user's program has the agent's socket. Remove the socket's folder.
        public static let agentSocketTaken = Detail(name: "agentSocketTaken")
        /// Other users can use the folder of the agent's socket. ``VaultError/value`` is the folder.
        public static let agentFolderOpen = Detail(name: "agentFolderOpen")
        /// The agent cannot store a renewed token, so it does not end. Make room on the disk.
        public static let tokenNotStored = Detail(name: "tokenNotStored")

        // MARK: - The store

        /// The store was moved or replaced while a program used it. Start the program again.
        public static let storeMoved = Detail(name: "storeMoved")
        /// The store is on FUSE. Move it to a local disk.
        public static let fuseFileSystem = Detail(name: "fuseFileSystem")
        /// The store is on a network file system. Move it to a local disk.
        public static let networkFileSystem = Detail(name: "networkFileSystem")
        /// Another user owns a folder or file of the store. ``VaultError/value`` is its path.
        public static let fileOfOtherUser = Detail(name: "fileOfOtherUser")
        /// Other users may read a folder of the store. ``VaultError/value`` is its path.
        public static let folderOpenToOthers = Detail(name: "folderOpenToOthers")
        /// Other users may read a file of the store. ``VaultError/value`` is its path.
        public static let fileOpenToOthers = Detail(name: "fileOpenToOthers")

        // MARK: - Settings

        /// A client secret is set, but no client id. Set the client id.
        public static let clientIDMissing = Detail(name: "clientIDMissing")
        /// The key service has only the older protocol version ``VaultError/value``, which new accounts do not use.
        public static let oldProtocol = Detail(name: "oldProtocol")
        /// The key service ends keys of machines that are not listed, and the settings list none: see
        /// `VaultConfiguration.listsDevices`.
        public static let devicesNotListed = Detail(name: "devicesNotListed")
        /// The owner's list has no key of this machine, so a sign-in cannot unlock its keys. Use another unlock method,
        /// or ask the key service's operator.
        public static let keysNotListed = Detail(name: "keysNotListed")
        /// The machine's policy names an identity key that is not valid.
        public static let policyKeysInvalid = Detail(name: "policyKeysInvalid")
        /// Users other than root can change the file ``VaultError/value``: the machine's policy or settings.
        public static let policyFileUnsafe = Detail(name: "policyFileUnsafe")
        /// Users other than root can change the folder ``VaultError/value`` of the machine's policy or settings.
        public static let policyFolderUnsafe = Detail(name: "policyFolderUnsafe")

        // MARK: - Sign-in, servers and hardware

        /// The address is plain `http` to a server on the local network, and nobody allowed that. Use https, or ask the
        /// person: see `VaultConfiguration.allowsInsecureHTTP`.
        public static let plainHTTP = Detail(name: "plainHTTP")
        /// The address of the server is wrong: it is no usable URL, or the server there is of another kind. Let the person
        /// correct it.
        public static let addressWrong = Detail(name: "addressWrong")
        /// No private window of a browser could be opened. Let the person open the address.
        public static let browserNotOpened = Detail(name: "browserNotOpened")
        /// The provider makes no access token that is only for the key service, which ``VaultError/value`` names. Set
        /// another name for the key service, or allow any token: see `VaultConfiguration.keyServiceAudience`.
        public static let audienceNotRestricted = Detail(name: "audienceNotRestricted")
        /// The key service keeps no lists of devices. Its operator can switch them on.
        public static let deviceListsOff = Detail(name: "deviceListsOff")
        /// The key service lets no owner unlock a key. Its operator can allow it, or unlock the key.
        public static let ownerUnlockOff = Detail(name: "ownerUnlockOff")
        /// The key service does not trust the access token. Its operator can trust the provider and the audience.
        public static let tokenNotTrusted = Detail(name: "tokenNotTrusted")
        /// The server gives no API token for a user name and a password. Let the person make a token on the server's
        /// own pages, and sign in with this token.
        public static let apiTokenFromPage = Detail(name: "apiTokenFromPage")
        /// The server registers no client without the address of a page about the app. Set it in the layout of the
        /// server, as `client_uri` in `BackendLayout.Server.clientDetails`.
        public static let clientPageMissing = Detail(name: "clientPageMissing")
        /// The backend's answer to a sign-in lacks something. ``VaultError/value`` is the field where the layout says that
        /// it is. Correct the layout.
        public static let fieldMissing = Detail(name: "fieldMissing")
        /// The password is right, and the code of the second factor is wrong. Ask only for the code again.
        public static let codeWrong = Detail(name: "codeWrong")
        /// The stored layout of the account's backend is damaged. Register the account again.
        public static let layoutDamaged = Detail(name: "layoutDamaged")
        /// The layout of the account's backend has no list of sessions. Add its path to the layout, and register again.
        public static let sessionListMissing = Detail(name: "sessionListMissing")
        /// The backend has no session with this identifier. List the sessions.
        public static let sessionUnknown = Detail(name: "sessionUnknown")
        /// The hardware has no key that can be used. Let the provider make one.
        public static let hardwareKeyMissing = Detail(name: "hardwareKeyMissing")
        /// The library of the hardware is not installed. ``VaultError/value`` has Debian's packages of the library, with
        /// spaces between them. Show what to install.
        public static let libraryMissing = Detail(name: "libraryMissing")
        /// This user may not use the hardware. The machine's administrator can allow it.
        public static let hardwareForbidden = Detail(name: "hardwareForbidden")

        /// The text says already what to type: a program added its own hint.
        package static let told = Detail(name: "told")
    }
}
