internal import Foundation

/// The programs on this machine that can show a login to a person.
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
        // Without a display, the xdg-open of xdg-utils can open nothing. A replacement (in containers, by WSL) passes
        // the address to a machine with a browser.
        return !["/usr/bin/xdg-open", "/bin/xdg-open"].contains(opener)
    }
}
