-- Prints what wrk has measured for `run`; its own text lacks p99.9.
function done(summary, latency, requests)
    local e = summary.errors
    io.write(string.format(
        'JSON {"count": %d, "seconds": %f, "bytes": %d, "errors": %d, "p50": %f, "p90": %f, "p99": %f, "p999": %f}\n',
        summary.requests, summary.duration / 1e6, summary.bytes,
        e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50),
        latency:percentile(90), latency:percentile(99), latency:percentile(99.9)))
end
