internal import CoreMetrics
internal import VaultBase

/// One series of a metric.
protocol PrometheusValue: Sendable {
    /// Appends the lines of the series.
    ///
    /// - Parameter labels: as `name="value",…`; empty for none.
    func append(to text: inout String, name: String, labels: String)
}

/// A counter or a gauge.
final class PrometheusNumber: PrometheusValue, CounterHandler, MeterHandler, RecorderHandler {
    private let value = Lock(0.0)

    func increment(by amount: Int64) { value.withLock { $0 += Double(amount) } }
    func reset() { value.withLock { $0 = 0 } }
    func set(_ new: Int64) { value.withLock { $0 = Double(new) } }
    func set(_ new: Double) { value.withLock { $0 = new } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    func record(_ new: Int64) { set(new) }
    func record(_ new: Double) { set(new) }

    func append(to text: inout String, name: String, labels: String) {
        text += "\(name)\(PrometheusText.braces(labels)) \(PrometheusText.number(value.withLock { $0 }))\n"
    }
}

/// A histogram with fixed bounds.
final class PrometheusHistogram: PrometheusValue, TimerHandler, RecorderHandler {
    /// The bounds for times, in seconds.
    static let times = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    /// The bounds for sizes.
    static let sizes: [Double] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

    private struct State {
        var counts: [Int]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Lock<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Lock(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    func append(to text: inout String, name: String, labels: String) {
        let state = state.withLock { $0 }
        let comma = labels.isEmpty ? "" : ","
        var count = 0
        for (bound, inBucket) in zip(bounds + [.infinity], state.counts) {
            count += inBucket
            text += "\(name)_bucket{\(labels)\(comma)le=\"\(PrometheusText.number(bound))\"} \(count)\n"
        }
        text += "\(name)_sum\(PrometheusText.braces(labels)) \(PrometheusText.number(state.sum))\n"
        text += "\(name)_count\(PrometheusText.braces(labels)) \(count)\n"
    }
}

/// The spelling of Prometheus' text format.
enum PrometheusText {
    /// Replaces characters that the name of a metric or a label must not have.
    static func name(_ text: String) -> String {
        var name = String(text.unicodeScalars.map { isNamePart($0) ? Character($0) : "_" })
        if name.isEmpty || name.first?.isNumber == true { name = "_" + name }
        return name
    }

    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { label, value in
            let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            return "\(name(label))=\"\(escaped)\""
        }.joined(separator: ",")
    }

    static func braces(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

    static func number(_ value: Double) -> String {
        if value == .infinity { return "+Inf" }
        return Int64(exactly: value).map(String.init) ?? String(value)
    }

    private static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
    }
}
