#if Logind
    import Testing
    @testable import VaultLogind
    @Test func x() {}
#endif
