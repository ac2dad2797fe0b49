#if FIDO2
    import Foundation
    import VaultBase

    @testable import VaultFIDO2

    /// A device file with a ``SoftwareKey`` behind it, so that libfido2 itself reads and writes it. It is the end of a
    /// pseudo-terminal that does not change the bytes.
    final class DeviceFile: @unchecked Sendable {
        struct Failure: Error {
            let call: String
            let number: CInt
        }

        let path: String
        private let master: CInt
        /// While this end is open, the terminal keeps its settings.
        private let slave: CInt
        private let link: HIDLink
        private let written = DispatchSemaphore(value: 0)
        private let isUnplugged = Lock(false)

        /// - Parameter port: the port behind the file.
        init(_ port: SoftwarePort) throws {
            master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
            var (number, locked): (CInt, CInt) = (0, 0)
            // TIOCSPTLCK and TIOCGPTN, which Swift does not import.
            guard master >= 0, ioctl(master, 0x4004_5431, &locked) == 0, ioctl(master, 0x8004_5430, &number) == 0
            else { throw Failure(call: "ptmx", number: errno) }
            path = "/dev/pts/\(number)"
            slave = open(path, O_RDWR | O_NOCTTY)
            var settings = termios()
            guard slave >= 0, tcgetattr(slave, &settings) == 0 else { throw Failure(call: "open", number: errno) }
            cfmakeraw(&settings)
            // A report counts only when all of it has arrived.
            withUnsafeMutableBytes(of: &settings.c_cc) { $0[Int(VMIN)] = 64 }
            guard tcsetattr(slave, TCSANOW, &settings) == 0 else { throw Failure(call: "tcsetattr", number: errno) }
            link = try port.open()
            Thread.detachNewThread { @Sendable [self] in listen() }
            Thread.detachNewThread { @Sendable [self] in speak() }
        }

        deinit { close(slave) }

        /// Unplugs the key: readers and writers learn that the device is gone.
        func unplug() {
            link.cut()
            written.signal()
            isUnplugged.withLock { $0 = true }
            // A waiting read keeps the other end open, so it gets bytes to read.
            let report = [UInt8](repeating: 0, count: 65)
            _ = write(slave, report, report.count)
        }

        /// The kernel takes the number of the report before the report.
        private func listen() {
            var report = [UInt8](repeating: 0, count: 65)
            var count = 0
            defer { close(master) }
            while true {
                let more = report.withUnsafeMutableBytes { read(master, $0.baseAddress.map { $0 + count }, 65 - count) }
                if more <= 0 || isUnplugged.withLock({ $0 }) { return }
                count += more
                guard count == 65 else { continue }
                count = 0
                do {
                    try link.write(Array(report[1...]))
                } catch {
                    return
                }
                written.signal()
            }
        }

        private func speak() {
            do {
                while true {
                    written.wait()
                    while let report = try link.read(within: nil) {
                        guard write(master, report, report.count) == report.count else { return }
                    }
                }
            } catch {
                // The key was unplugged.
            }
        }
    }
#endif
