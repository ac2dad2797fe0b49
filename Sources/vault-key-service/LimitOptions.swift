internal import ArgumentParser
internal import Configuration
internal import KeyServiceServer

/// How many wrong guesses lock a key.
struct LimitOptions: ParsableArguments {
    @Option(help: ArgumentHelp("How many wrong guesses in a row lock a key. (default: 3)", valueName: "number"))
    var maxGuesses: Int?

    @Option(
        help: ArgumentHelp(
            "How many wrong guesses in all lock a key. Right guesses do not reset this count. (default: 100)",
            valueName: "number"))
    var maxGuessesTotal: Int?

    func limits(_ settings: Settings) throws -> GuessLimits {
        let standard = GuessLimits()
        return GuessLimits(
            inARow: try settings.number(maxGuesses, "maxGuesses", default: standard.inARow),
            inAll: try settings.number(maxGuessesTotal, "maxGuessesTotal", default: standard.inAll))
    }
}
