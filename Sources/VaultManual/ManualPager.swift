#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The program that shows a man page to a person at a terminal.
package enum ManualPager {
    /// Shows a page: `man` replaces this process. Returns if standard output is no terminal, or if there is no `man`.
    /// Then print the page as it is.
    ///
    /// - Parameters:
    ///   - page: the page in roff.
    ///   - prepare: restores what this process changed for itself. It runs right before the replacement.
    package static func show(_ page: String, prepare: () -> Void = {}) {
        guard isatty(STDOUT_FILENO) == 1, let file = tmpfile() else { return }
        defer { fclose(file) }
        // A file needs no second process that writes while man reads.
        guard fputs(page, file) >= 0, fflush(file) == 0, lseek(fileno(file), 0, SEEK_SET) == 0,
            dup2(fileno(file), STDIN_FILENO) == STDIN_FILENO
        else { return }
        let command: [String] = ["man", "-l", "-"]
        let words = command.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        prepare()
        execvp("man", words)
    }
}
