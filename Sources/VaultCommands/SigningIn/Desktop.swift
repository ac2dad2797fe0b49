internal import CredentialVault
internal import Foundation

/// What there is on this machine to show a login to a person.
enum Desktop {
    /// The program that opens links, if there is one on the PATH.
    static var opener: String? {
        let paths = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return paths.map { "\($0)/xdg-open" }.first { access($0, X_OK) == 0 }
    }

    static var hasDisplay: Bool {
        let environment = ProcessInfo.processInfo.environment
        return ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
    }

    /// Whether a browser can be opened.
    static var hasBrowser: Bool {
        guard let opener else { return false }
        if hasDisplay || ProcessInfo.processInfo.environment["BROWSER"]?.isEmpty == false { return true }
        // Without a display the one of xdg-utils has nothing to open. One that was put in its place (in containers, by
        // WSL) hands the address to where there is a browser.
        return !["/usr/bin/xdg-open", "/bin/xdg-open"].contains(opener)
    }
}
