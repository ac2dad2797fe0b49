/// The page that the browser shows when it comes back from the identity provider.
enum CallbackPage {
    static let success = page(
        title: "Signed in", symbol: "✓", color: "#1a7f37",
        text: "You are signed in. You can close this tab and go back to where you started.")

    static let denied = page(
        title: "Not signed in", symbol: "–", color: "#9a6700",
        text: "The sign-in was refused or cancelled. Nothing was stored. You can close this tab.")

    static let failure = page(
        title: "Sign-in failed", symbol: "!", color: "#cf222e",
        text:
            "The sign-in failed. Nothing was stored. See the error in the program that started it. You can close this tab."
    )

    /// The page for a request that does not belong to the current sign-in.
    static let foreign = page(
        title: "Not this sign-in", symbol: "!", color: "#cf222e",
        text:
            "This page does not belong to the current sign-in, which goes on waiting. Nothing was stored. Finish the sign-in in the other tab, or stop the program that started it."
    )

    private static func page(title: String, symbol: String, color: String, text: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(title)</title>
        <style>
        :root { color-scheme: light dark }
        body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center }
        main { max-width: 26rem; padding: 2rem; text-align: center }
        p.symbol { width: 4rem; height: 4rem; line-height: 4rem; margin: 0 auto; border-radius: 50%; color: #fff;
          background: \(color); font-size: 2rem }
        h1 { font-size: 1.4rem }
        </style>
        </head>
        <body><main><p class="symbol" aria-hidden="true">\(symbol)</p><h1>\(title)</h1><p>\(text)</p></main></body>
        </html>
        """
    }
}
