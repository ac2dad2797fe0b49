internal import CSodium

/// The data that functions leave on the stack.
package enum StackMemory {
    /// Overwrites old data on this thread's stack: 128 KiB, more than C libraries for hardware use. They do not wipe
    /// their data.
    package static func wipe() { sodium_stackzero(128 * 1024) }
}
