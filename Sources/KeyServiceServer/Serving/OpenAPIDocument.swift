/// The OpenAPI 3.1 document of the protocol's version 2.
enum OpenAPIDocument {
    static let text = "{}"
}
