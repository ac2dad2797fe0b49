package import KeyServiceClient
package import Logging
package import VaultHTTP

extension KeyServices {
    /// Returns the clients over HTTP, or an app's own ones. If the app has a client of version 1 only, there is no version
    /// 2. If its client of version 2 keeps no lists of devices, there are none.
    package static func over(
        _ transport: any HTTPTransport, limits: HTTPLimits, logger: Logger, own: (any KeyService)?,
        ownOPRF: (any OPRFKeyService)?
    ) -> KeyServices {
        @Sendable func endpoint(_ url: String) throws -> KeyServiceEndpoint {
            try KeyServiceEndpoint(baseURL: url, transport: transport, limits: limits, logger: logger)
        }
        let isHTTP = own == nil && ownOPRF == nil
        return KeyServices(
            released: { try own ?? HTTPKeyService(endpoint($0)) },
            oprf: { try ownOPRF ?? (isHTTP ? HTTPOPRFKeyService(endpoint($0)) : nil) },
            deviceLists: {
                isHTTP ? try HTTPDeviceListService(endpoint($0)) : ownOPRF as? any DeviceListService
            })
    }
}
