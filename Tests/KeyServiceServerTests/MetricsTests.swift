import CoreMetrics
import Testing

@testable import KeyServiceServer

@Suite struct MetricsTests {
    @Test func `when a metric has several labels, then one head appears`() {
        let prometheus = PrometheusMetrics(help: ["a_total": "All of them."])
        Counter(label: "a.total", dimensions: [("kind", "x\"\\\n")], factory: prometheus).increment(by: 2)
        Counter(label: "a.total", dimensions: [("kind", "y")], factory: prometheus).increment()
        Meter(label: "level", factory: prometheus).set(1.5)
        #expect(
            prometheus.text() == #"""
                # HELP a_total All of them.
                # TYPE a_total counter
                a_total{kind="x\"\\\n"} 2
                a_total{kind="y"} 1
                # TYPE level gauge
                level 1.5

                """#)
    }

    @Test func `when a histogram records, then its buckets are cumulative`() {
        let prometheus = PrometheusMetrics(help: [:])
        let timer = CoreMetrics.Timer(label: "time", factory: prometheus)
        for nanoseconds in [500_000, 600_000, 20_000_000_000] { timer.recordNanoseconds(Int64(nanoseconds)) }
        let lines = prometheus.text().split(separator: "\n")
        #expect(lines.contains(#"time_bucket{le="0.0005"} 1"#))
        #expect(lines.contains(#"time_bucket{le="10"} 2"#))
        #expect(lines.contains(#"time_bucket{le="+Inf"} 3"#))
        #expect(lines.contains("time_count 3"))
    }

    @Test func `when labels exceed the limit, then further ones are ignored`() {
        let prometheus = PrometheusMetrics(help: [:])
        for number in 1...1000 {
            Counter(label: "many", dimensions: [("number", "\(number)")], factory: prometheus).increment()
        }
        #expect(prometheus.text().split(separator: "\n").count == 401)
    }

    @Test func `when counters have equal labels, then they share one value`() {
        let prometheus = PrometheusMetrics(help: [:])
        for _ in 1...3 { Counter(label: "same", factory: prometheus).increment() }
        #expect(prometheus.text().contains("same 3\n"))
    }
}
