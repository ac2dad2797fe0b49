internal import ArgumentParser
internal import KeyServiceCore

/// How many wrong guesses lock a key. The store keeps the numbers for all instances of the service.
struct LimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How many wrong guesses in a row lock a key. (default: as stored, at first 3)", valueName: "number"))
    var maxGuesses: Int?

    @Option(
        help: ArgumentHelp(
            """
            How many wrong guesses in all lock a key. Right guesses do not reset this count. (default: as stored, at \
            first 100)
            """,
            valueName: "number"))
    var maxGuessesTotal: Int?
}
