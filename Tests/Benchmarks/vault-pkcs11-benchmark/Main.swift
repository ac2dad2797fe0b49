@main struct PKCS11Benchmark {
    static func main() { print("Build it with --traits PKCS11.") }
}
