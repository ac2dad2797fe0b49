internal import CQRCode
internal import CredentialVault
internal import Foundation
internal import VaultBase

/// Shows a person the code to enter on another device (RFC 8628 section 3.3), and how long it is valid.
struct DevicePrompt {
    let status: StatusChannel
    /// With `--json` standard error has the address and the code, each alone on a line, and nothing else.
    let isQuiet: Bool

    func show(_ device: DeviceAuthorization) {
        status.tell(
            .device(device, expiresAt: SystemWallClock().now + TimeInterval(device.expiresIn.components.seconds)))
        if !isQuiet {
            let place = Self.isLocal(device.verificationURI) ? "this machine" : "any device"
            Output.note("To sign in, open this address on \(place):")
        }
        Output.note(device.verificationURI)
        if !isQuiet { Output.note("and enter this code:") }
        Output.note(device.userCode)
        guard !isQuiet else { return }
        drawCode(device)
        Output.note("The code is valid for \(Self.text(device.expiresIn)). Ctrl-C stops.")
        let end = ContinuousClock.now + device.expiresIn
        Spinner.start { "Waiting for the sign-in. Time left: \((end - ContinuousClock.now).digits)" }
    }

    /// Whether no other device can reach an address, because it is for this machine only.
    static func isLocal(_ address: String) -> Bool {
        LoopbackAddress.isLoopback(host: URLComponents(string: address)?.host ?? "")
    }

    /// Draws a code to scan, if the terminal has room for one.
    private func drawCode(_ device: DeviceAuthorization) {
        let environment = ProcessInfo.processInfo.environment
        guard isatty(STDERR_FILENO) == 1, environment["TERM"] != "dumb", Charset.isUTF8,
            !Self.isLocal(device.verificationURI),
            let size = TerminalSize(of: STDERR_FILENO)
        else { return }
        let library: LibQRencode
        do throws(MissingLibrary) {
            library = try LibQRencode.open()
        } catch {
            return Output.note("There is no code to scan. \(error) \(Hints.install(error.packages))")
        }
        let hasColors = environment["NO_COLOR", default: ""].isEmpty
        for (text, remark) in [
            (device.verificationURIComplete, "Or scan this, and check that the same code is shown there."),
            (device.verificationURI, "Or scan this to open the address."),
        ] {
            guard let code = text.flatMap({ QRCode($0, library) }), code.columns <= size.columns else { continue }
            let lines = code.lines(hasColors: hasColors)
            guard lines.count < size.rows else { continue }
            Output.note(remark)
            return Output.drawing(lines)
        }
    }

    /// `10 minutes`, `90 seconds`.
    private static func text(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        let (count, unit) = seconds % 60 == 0 ? (seconds / 60, "minute") : (seconds, "second")
        return "\(count) \(unit)\(count == 1 ? "" : "s")"
    }
}

extension Duration {
    /// The time that is left, as `9:59`.
    var digits: String {
        let seconds = max(0, components.seconds)
        return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }
}
