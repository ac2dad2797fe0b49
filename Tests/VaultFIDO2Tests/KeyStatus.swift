#if FIDO2
    /// The statuses of a key that refuses a command (CTAP 2.1 section 8.2, "Status codes").
    enum KeyStatus: UInt8, Error {
        case invalidCommand = 0x01
        case invalidLength = 0x03
        case invalidCBOR = 0x12
        case missingParameter = 0x14
        case unsupportedAlgorithm = 0x26
        case operationDenied = 0x27
        case unsupportedOption = 0x2B
        case keepaliveCancel = 0x2D
        case noCredentials = 0x2E
        case userActionTimeout = 0x2F
        case pinInvalid = 0x31
        case pinBlocked = 0x32
        case pinAuthInvalid = 0x33
        case pinAuthBlocked = 0x34
        case pinNotSet = 0x35
        case pinRequired = 0x36
        case other = 0x7F
    }
#endif
