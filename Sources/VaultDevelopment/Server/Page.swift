internal import Crypto
internal import FoundationEssentials

/// The frame of all pages of development servers. They need no script.
enum Page {
    /// Makes a page around `body`, which must be HTML.
    static func html(title: String, _ body: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(escaped(title))</title>
        <link rel="icon" href="data:,">
        <style>\(style)</style>
        </head>
        <body>
        <main>
        \(body)
        </main>
        <footer>A development server of Credential Vault. Not for real accounts.</footer>
        </body>
        </html>

        """
    }

    /// Escapes `text` for HTML text or a quoted attribute.
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    /// The hash of ``style`` for the content security policy.
    static let styleHash = "sha256-" + Data(SHA256.hash(data: Data(style.utf8))).base64EncodedString()

    private static let style = """

        :root { color-scheme: light dark; --page: #eef1f6; --card: #fff; --text: #1a2130; --soft: #5a6478;
          --line: #c6cdd9; --accent: #2452c8; --accent-text: #fff; --alert: #b3261e; --alert-page: #fdeceb; }
        @media (prefers-color-scheme: dark) { :root { --page: #12161e; --card: #1c222d; --text: #e8ecf3;
          --soft: #a0aabb; --line: #3d4757; --accent: #8fb0ff; --accent-text: #0f1a33; --alert: #ffb4ab;
          --alert-page: #3b1f1d; } }
        * { box-sizing: border-box; }
        body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; align-items: center;
          justify-content: center; gap: 1.5rem; padding: 1.5rem 1rem; background: var(--page); color: var(--text);
          font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
        main { width: 100%; max-width: 25rem; padding: 2.25rem; border-radius: 14px; background: var(--card);
          box-shadow: 0 1px 2px rgb(0 0 0 / 8%), 0 12px 32px rgb(0 0 0 / 10%); }
        h1 { margin: 0; font-size: 1.6rem; line-height: 1.2; }
        .lead { margin: .35rem 0 1.5rem; color: var(--soft); }
        .lead strong { color: var(--text); overflow-wrap: anywhere; }
        .alert { margin: 1rem 0; padding: .7rem .9rem; border-radius: 8px; background: var(--alert-page);
          color: var(--alert); overflow-wrap: anywhere; }
        .alert:last-child { margin-bottom: 0; }
        label { display: block; margin-bottom: .3rem; font-weight: 600; font-size: .9rem; }
        input { width: 100%; margin-bottom: 1rem; padding: .65rem .75rem; border: 1px solid var(--line);
          border-radius: 8px; background: transparent; color: inherit; font: inherit; }
        input:focus, button:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
        .wishes { margin: .25rem 0 .25rem; font-size: .9rem; color: var(--soft); }
        ul { margin: 0 0 1.5rem; padding-left: 1.2rem; font-size: .9rem; color: var(--soft); }
        .buttons { display: flex; gap: .75rem; }
        button { flex: 1; padding: .7rem 1rem; border: 1px solid var(--accent); border-radius: 8px;
          background: var(--accent); color: var(--accent-text); font: inherit; font-weight: 600; cursor: pointer; }
        #deny { background: transparent; color: inherit; border-color: var(--line); }
        button:hover { filter: brightness(1.08); }
        footer { color: var(--soft); font-size: .8rem; text-align: center; }

        """
}
