import Testing
import VaultAuth

/// The start of the default browser, and the option that makes it private.
@Suite struct DefaultBrowserTests {
    @Test(
        arguments: [
            ("Exec=firefox-esr %u", ["firefox-esr"]), ("Exec=/usr/bin/chromium %U", ["/usr/bin/chromium"]),
            (
                #"Exec="/opt/my browser/run" --name "a \"b\" 100%%" %F"#,
                ["/opt/my browser/run", "--name", #"a "b" 100%"#]
            ),
            (#"Exec=browser\s--x %u"#, ["browser", "--x"]), (#"Exec="a\\$b" %u"#, ["a$b"]),
            (
                "Exec=/usr/bin/flatpak run --command=firefox --file-forwarding org.mozilla.firefox @@u %u @@",
                ["/usr/bin/flatpak", "run", "--command=firefox", "--file-forwarding", "org.mozilla.firefox"]
            ),
            ("Exec=browser --url=%u", ["browser"]), (#"Exec="browser %u"#, nil), ("Exec=%u", nil), ("Name=x", nil),
        ] as [(String, [String]?)])
    func `when a desktop entry is read, then Exec is split`(line: String, words: [String]?) {
        let entry =
            "[Other]\nExec=wrong\n[Desktop Entry]\nType=Application\n\(line)\n[Desktop Action new]\nExec=other\n"
        #expect(DefaultBrowser.words(ofEntry: entry) == words)
    }

    @Test(
        arguments: [
            (["/usr/lib/firefox-esr/firefox-esr"], "--private-window"),
            (["/usr/bin/google-chrome-stable"], "--incognito"),
            (["/usr/bin/chromium"], "--incognito"), (["/usr/bin/brave-browser"], "--incognito"),
            (["/usr/bin/microsoft-edge-stable"], "--inprivate"), (["/snap/bin/firefox"], "--private-window"),
            (["/usr/bin/env", "BAMF=1", "/snap/bin/chromium"], "--incognito"),
            (["/usr/bin/flatpak", "run", "--branch=stable", "com.google.Chrome"], "--incognito"),
            (["/usr/bin/flatpak", "run", "org.gnome.Epiphany"], nil), (["/snap/bin/opera"], nil),
            (["/bin/sh", "-c", "firefox"], nil), (["/usr/bin/firefoxish"], nil), (["/usr/bin/konqueror"], nil),
        ] as [([String], String?)])
    func `when browsers are known, then their private option is found`(command: [String], option: String?) {
        let privacy = DefaultBrowser(name: "x", command: command).privacy
        if case .window(let known) = privacy { #expect(known == option) } else { #expect(option == nil) }
        if option == nil { #expect(privacy == nil) }
    }

    @Test(arguments: [
        ("/usr/bin/opera", ["--user-data-dir=/t", "--no-first-run"]),
        ("/usr/bin/epiphany", ["--private-instance", "--profile=/t"]), ("/usr/bin/qutebrowser", ["--basedir", "/t"]),
    ])
    func `when browsers lack private windows, then options name a profile`(program: String, options: [String]) throws {
        guard case .profile(let make)? = DefaultBrowser(name: "x", command: [program]).privacy else {
            Issue.record("no profile")
            return
        }
        #expect(make("/t") == options)
    }
}
