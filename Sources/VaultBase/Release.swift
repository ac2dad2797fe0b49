/// The release that this source makes.
package enum Release {
    /// The version, as the changelog and the tag spell it. All programs and manual pages take it from here. In the
    /// documents, `Sources/Packaging/release.sh` compares it.
    package static let version = "0.1.0"
}
