package import CoreMetrics
internal import VaultBase

/// All metrics of the process, as text for Prometheus (format 0.0.4).
///
/// A label with too many values would grow without bounds, so a metric takes `maxSeries` label sets and ignores others.
package final class PrometheusMetrics: MetricsFactory {
    private static let maxSeries = 400

    struct Family {
        let type: String
        var series: [(labels: String, value: any PrometheusValue)] = []
    }

    private let help: [String: String]
    private let families = Lock<[String: Family]>([:])
    private let read: [@Sendable () -> PrometheusReading?]

    /// Makes an empty registry, for `MetricsSystem.bootstrap`.
    package convenience init() {
        self.init(help: KeyServiceMetrics.help, read: ProcessMetrics.all)
    }

    /// - Parameters:
    ///   - help: one sentence for each name of a metric.
    ///   - read: values that are read for each ``text()``.
    init(help: [String: String], read: [@Sendable () -> PrometheusReading?] = []) {
        self.help = help
        self.read = read
    }

    /// Returns the text of all metrics, sorted by name.
    package func text() -> String {
        var text = ""
        for (name, family) in families.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            appendHead(name, family.type, to: &text)
            for (labels, value) in family.series { value.append(to: &text, name: name, labels: labels) }
        }
        for reading in read.compactMap({ $0() }) {
            appendHead(reading.name, reading.type, to: &text)
            text += "\(reading.name) \(PrometheusText.number(reading.value))\n"
        }
        return text
    }

    private func appendHead(_ name: String, _ type: String, to text: inout String) {
        if let help = help[name] { text += "# HELP \(name) \(help)\n" }
        text += "# TYPE \(name) \(type)\n"
    }

    private func value<Value: PrometheusValue>(
        _ label: String, _ dimensions: [(String, String)], _ type: String, _ make: () -> Value
    ) -> Value {
        let name = PrometheusText.name(label)
        let labels = PrometheusText.labels(dimensions)
        return families.withLock { families in
            var family = families[name] ?? Family(type: type)
            if let known = family.series.first(where: { $0.labels == labels })?.value as? Value { return known }
            let value = make()
            // A second metric of the same name and another type is not shown.
            guard family.type == type, family.series.count < Self.maxSeries else { return value }
            family.series.append((labels, value))
            families[name] = family
            return value
        }
    }
}

/// A value that is read for each ``PrometheusMetrics/text()``.
struct PrometheusReading {
    let name: String
    var type = "gauge"
    let value: Double
}

extension PrometheusMetrics {
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        value(label, dimensions, "counter") { PrometheusNumber() }
    }

    /// Makes a gauge, which can go up and down.
    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        value(label, dimensions, "gauge") { PrometheusNumber() }
    }

    /// Makes a histogram of sizes; without `aggregate`, a gauge with the last value.
    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        aggregate
            ? value(label, dimensions, "histogram") { PrometheusHistogram(bounds: PrometheusHistogram.sizes) }
            : value(label, dimensions, "gauge") { PrometheusNumber() }
    }

    /// Makes a histogram of times in seconds.
    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        value(label, dimensions, "histogram") { PrometheusHistogram(bounds: PrometheusHistogram.times) }
    }

    /// Does nothing: Prometheus expects that a metric stays.
    package func destroyCounter(_ handler: any CounterHandler) {}
    /// Does nothing: Prometheus expects that a metric stays.
    package func destroyMeter(_ handler: any MeterHandler) {}
    /// Does nothing: Prometheus expects that a metric stays.
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Does nothing: Prometheus expects that a metric stays.
    package func destroyTimer(_ handler: any TimerHandler) {}
}
