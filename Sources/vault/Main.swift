import VaultCommands

@main
struct Main {
    static func main() async {
        await VaultProgram.run()
    }
}
