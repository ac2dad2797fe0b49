package import HTTPTypes

/// A small HTML page of the loopback listener, without scripts or anything to load.
package struct LoopbackPage: Sendable {
    package var status: HTTPResponse.Status
    package var html: String

    /// Makes a page from a whole HTML document.
    package init(status: HTTPResponse.Status, html: String) {
        self.status = status
        self.html = html
    }

    /// Makes a page with a heading and one paragraph, both plain text.
    package init(status: HTTPResponse.Status = .ok, title: String, message: String) {
        let title = Self.escape(title)
        self.init(
            status: status,
            html: """
                <!doctype html>
                <html lang="en">
                <head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>\(title)</title>
                <style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem;\
                color:#222;background:#fff}@media(prefers-color-scheme:dark){body{color:#eee;background:#1c1c1e}}</style>
                </head>
                <body><h1>\(title)</h1><p>\(Self.escape(message))</p></body>
                </html>

                """)
    }

    /// Escapes text for HTML, also inside attributes.
    package static func escape(_ text: String) -> String {
        var html = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            case "'": html += "&#39;"
            default: html.unicodeScalars.append(character)
            }
        }
        return html
    }

    /// The page for an unanswered callback. The result is not known here.
    static let neutral = LoopbackPage(
        title: "Back to the terminal", message: "You can close this tab. The program that opened it shows the result.")
    static let notFound = LoopbackPage(status: .notFound, title: "Not found", message: "There is nothing here.")
    static let gone = LoopbackPage(
        status: .gone, title: "Already used", message: "This sign-in was already answered. You can close this tab.")
    static let unknownPeer = LoopbackPage(
        status: .forbidden, title: "Not signed in",
        message: """
            The program that waits for this sign-in cannot tell that this browser is yours. The browser may run in a \
            container. Nothing was stored. Start the sign-in again with a device code, or copy the address of this page \
            into the program.
            """)
    static let wrongMethod = LoopbackPage(
        status: .methodNotAllowed, title: "Not allowed", message: "This address accepts only GET.")
    static let badRequest = LoopbackPage(
        status: .badRequest, title: "Bad request", message: "The request is not valid HTTP.")
    static let tooLarge = LoopbackPage(
        status: .requestHeaderFieldsTooLarge, title: "Too large", message: "The request is too large.")
    static let tooSlow = LoopbackPage(status: .requestTimeout, title: "Too slow", message: "The request took too long.")
}
