internal import CSodium

/// What functions leave on the stack when they return.
package enum StackMemory {
    /// Overwrites what functions that have returned left on this thread's stack: more of it than C libraries for hardware
    /// use, which do not wipe what they work with.
    package static func wipe() { sodium_stackzero(128 * 1024) }
}
