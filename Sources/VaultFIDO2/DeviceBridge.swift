#if FIDO2
    internal import CFIDO2

    /// Lets libfido2 talk through a ``FIDO2Connection``.
    ///
    /// Its functions carry no context but the path that it is told to open, so that path is the address of this object.
    final class DeviceBridge {
        private let devices: any FIDO2Devices
        private let device: FIDO2Device

        init(_ devices: any FIDO2Devices, _ device: FIDO2Device) {
            self.devices = devices
            self.device = device
        }

        /// What libfido2 is told to open. Good for as long as this object lives.
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

    /// What stands behind the handle that libfido2 gets from `open`.
    private final class BridgedConnection {
        let connection: any FIDO2Connection

        init(_ connection: any FIDO2Connection) { self.connection = connection }

        static func at(_ handle: UnsafeMutableRawPointer?) -> BridgedConnection? {
            handle.map { Unmanaged<BridgedConnection>.fromOpaque($0).takeUnretainedValue() }
        }

        /// - Returns: how many bytes there are, or -1.
        func read(into buffer: UnsafeMutablePointer<UInt8>?, count: Int, milliseconds: CInt) -> CInt {
            let limit: Duration? = milliseconds < 0 ? nil : .milliseconds(milliseconds)
            guard let buffer, let report = try? connection.read(within: limit), report.count == count else { return -1 }
            UnsafeMutableRawBufferPointer(start: buffer, count: count).copyBytes(from: report)
            return CInt(count)
        }

        /// The first byte is the number of the report, which the kernel wants and does not send.
        ///
        /// - Returns: how many bytes were written, or -1.
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
