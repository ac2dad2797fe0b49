internal import VaultDBus

// The values that only logind's messages have.
extension BusMessage {
    /// Reads a list of sessions (`a(susso)`), and returns the paths of those of a user.
    func readSessions(of user: UInt32) throws(BusError) -> Set<String> {
        var paths: Set<String> = []
        _ = try enter(.array, of: "(susso)")
        while try enter(.structure, of: "susso") {
            try skip("s")
            let owner = try readNumber()
            try skip("ss")
            let path = try readPath()
            if owner == user { paths.insert(path) }
            try leave()
        }
        try leave()
        return paths
    }

    /// Reads a boolean property from a dictionary of changed ones (`a{sv}`).
    func readFlag(ofProperty wanted: String) throws(BusError) -> Bool? {
        var result: Bool?
        _ = try enter(.array, of: "{sv}")
        while try enter(.entry, of: "sv") {
            if try readString() == wanted {
                _ = try enter(.variant, of: "b")
                result = try readFlag()
                try leave()
            } else {
                try skip("v")
            }
            try leave()
        }
        try leave()
        return result
    }
}
