#if FIDO2
    internal import CFIDO2

    /// A bridge that lets libfido2 talk through a ``FIDO2Connection``.
    ///
    /// The only context of libfido2's functions is the path to open, so that path is the address of this object.
    final class DeviceBridge {
        private let devices: any FIDO2Devices
        private let device: FIDO2Device

        init(_ devices: any FIDO2Devices, _ device: FIDO2Device) {
            self.devices = devices
            self.device = device
        }

        /// The path for libfido2. It is valid during the life of this object.
        var path: String { String(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()), radix: 16) }

        static var functions: fido_dev_io_t {
            fido_dev_io_t(
                open: { path in
                    guard let path, let address = UInt(String(cString: path), radix: 16),
                        let pointer = UnsafeRawPointer(bitPattern: address)
                    else { return nil }
                    let bridge = Unmanaged<DeviceBridge>.fromOpaque(pointer).takeUnretainedValue()
                    guard let connection = try? bridge.devices.open(bridge.device) else { return nil }
                    return Unmanaged.passRetained(BridgedConnection(connection)).toOpaque()
                },
                close: { handle in
                    guard let handle else { return }
                    Unmanaged<BridgedConnection>.fromOpaque(handle).takeRetainedValue().connection.close()
                },
                read: { handle, buffer, count, milliseconds in
                    BridgedConnection.at(handle)?.read(into: buffer, count: count, milliseconds: milliseconds) ?? -1
                },
                write: { handle, buffer, count in
                    BridgedConnection.at(handle)?.write(buffer, count: count) ?? -1
                })
        }
    }

    /// The object behind the handle that libfido2 gets from `open`.
    private final class BridgedConnection {
        let connection: any FIDO2Connection

        init(_ connection: any FIDO2Connection) { self.connection = connection }

        static func at(_ handle: UnsafeMutableRawPointer?) -> BridgedConnection? {
            handle.map { Unmanaged<BridgedConnection>.fromOpaque($0).takeUnretainedValue() }
        }

        /// - Returns: the number of bytes, or -1.
        func read(into buffer: UnsafeMutablePointer<UInt8>?, count: Int, milliseconds: CInt) -> CInt {
            let limit: Duration? = milliseconds < 0 ? nil : .milliseconds(milliseconds)
            guard let buffer, let report = try? connection.read(within: limit), report.count == count else { return -1 }
            UnsafeMutableRawBufferPointer(start: buffer, count: count).copyBytes(from: report)
            return CInt(count)
        }

        /// Writes a report without its first byte: the report number, which only the kernel needs.
        ///
        /// - Returns: the number of written bytes, or -1.
        func write(_ buffer: UnsafePointer<UInt8>?, count: Int) -> CInt {
            guard let buffer, count > 1 else { return -1 }
            let report = Array(UnsafeBufferPointer(start: buffer + 1, count: count - 1))
            do {
                try connection.write(report)
            } catch {
                return -1
            }
            return CInt(count)
        }
    }
#endif
