#if Logind
    internal import CSystemd
    func busIsOpen(_ bus: OpaquePointer) -> Bool { sd_bus_is_open(bus) > 0 }
#endif
