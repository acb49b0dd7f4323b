//! What a monitoring system is told, in `OpenMetrics`: how many requests, how long they took, and how much of the bounds is taken.
//!
//! No content and no ids of users. Labels are names of the table of operations and few others, so that what is kept is bounded.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::pool::Taken;

/// The media type of what is told.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Bounds of the histogram's classes in seconds: from a request that finds everything in memory to one that reads a long session.
const SECONDS: [f64; 13] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    operation: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    operation: &'static str,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Over {
    listener: &'static str,
}

type Histograms = Family<Of, Histogram, fn() -> Histogram>;

/// The figures of one server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    answered: Family<Answered, Counter>,
    refused: Family<Of, Counter>,
    seconds: Histograms,
    connections: Family<Over, Gauge>,
    running: Gauge,
    waiting: Gauge,
    streams: Gauge,
    held: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Arc<Self> {
        let mut all = Self {
            registry: Registry::with_prefix("stemma"),
            answered: Family::default(),
            refused: Family::default(),
            seconds: Histograms::new_with_constructor(|| Histogram::new(SECONDS)),
            connections: Family::default(),
            running: Gauge::default(),
            waiting: Gauge::default(),
            streams: Gauge::default(),
            held: Gauge::default(),
        };
        let registry = &mut all.registry;
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version that answers", build);
        let name = "Requests by operation and class of status";
        registry.register("requests", name, all.answered.clone());
        let name = "Requests refused with 429, because every place was taken";
        registry.register("requests_refused", name, all.refused.clone());
        let name = "Time until the answer's head; content and events flow after that";
        registry.register_with_unit("request_duration", name, Unit::Seconds, all.seconds.clone());
        registry.register("connections_open", "Connections that are open", all.connections.clone());
        registry.register("operations_running", "Operations that run", all.running.clone());
        let name = "Operations that wait for one of those that run to end";
        registry.register("operations_waiting", name, all.waiting.clone());
        let name = "Contents and subscriptions that flow in either direction";
        registry.register("streams_open", name, all.streams.clone());
        let name = "Memory that requests in JSON take at this moment";
        registry.register_with_unit("requests_held", name, Unit::Bytes, all.held.clone());
        Arc::new(all)
    }

    /// Counts a request for an operation that was answered.
    pub(crate) fn answered(&self, operation: &'static str, status: u16, took: Duration) {
        let class = match status {
            100..200 => "1xx",
            200..300 => "2xx",
            300..400 => "3xx",
            400..500 => "4xx",
            _ => "5xx",
        };
        self.answered.get_or_create(&Answered { operation, status: class }).inc();
        self.seconds.get_or_create(&Of { operation }).observe(took.as_secs_f64());
        if status == 429 {
            self.refused.get_or_create(&Of { operation }).inc();
        }
    }

    /// Counts a connection for as long as the value lives.
    pub(crate) fn connected(&self, listener: &'static str) -> Connected {
        let open = self.connections.get_or_create(&Over { listener }).clone();
        open.inc();
        Connected(open)
    }

    /// Returns all figures as text.
    pub(crate) fn text(&self, taken: &Taken) -> String {
        let of = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.running.set(of(taken.running));
        self.waiting.set(of(taken.waiting));
        self.streams.set(of(taken.streams));
        self.held.set(of(taken.bytes));
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a string takes it");
        text
    }
}

/// A connection that is counted as open.
pub(crate) struct Connected(Gauge);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_operation_and_class() {
        let metrics = Metrics::new();
        for (status, millis) in [(200, 1), (304, 1), (404, 1), (429, 1), (500, 3_000)] {
            metrics.answered("chains.show", status, Duration::from_millis(millis));
        }
        let first = metrics.connected("unix");
        let _second = metrics.connected("unix");
        drop(first);
        let text = metrics.text(&Taken { running: 2, waiting: 3, streams: 4, bytes: 2048 });
        for line in [
            "stemma_requests_total{operation=\"chains.show\",status=\"4xx\"} 2",
            "stemma_requests_total{operation=\"chains.show\",status=\"3xx\"} 1",
            "stemma_requests_refused_total{operation=\"chains.show\"} 1",
            "stemma_request_duration_seconds_count{operation=\"chains.show\"} 5",
            "stemma_request_duration_seconds_bucket{le=\"2.5\",operation=\"chains.show\"} 4",
            "stemma_connections_open{listener=\"unix\"} 1",
            "stemma_operations_running 2",
            "stemma_operations_waiting 3",
            "stemma_streams_open 4",
            "stemma_requests_held_bytes 2048",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
        }
        assert!(text.contains("stemma_build_info{version=\"") && text.ends_with("# EOF\n"), "{text}");
    }
}
