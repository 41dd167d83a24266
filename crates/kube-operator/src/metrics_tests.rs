//! The text of the metrics endpoint.

use std::collections::BTreeMap;

use axum::body::{Body, to_bytes};
use http::Request;
use tower::ServiceExt;

use super::*;

/// The samples of a text in format 0.0.4, by name with labels; panics on what is no such text.
pub(crate) fn parse(text: &str) -> BTreeMap<String, f64> {
    let mut types = BTreeMap::new();
    let mut samples = BTreeMap::new();
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
    };
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix("# ") {
            let (keyword, rest) = comment.split_once(' ').expect(line);
            let (name, rest) = rest.split_once(' ').expect(line);
            assert!(is_name(name), "{line}");
            match keyword {
                "HELP" => {}
                "TYPE" => {
                    assert!(["counter", "gauge", "histogram", "summary"].contains(&rest), "{line}");
                    assert!(types.insert(name.to_owned(), rest.to_owned()).is_none(), "two types: {line}");
                }
                other => panic!("unknown comment {other}: {line}"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect(line);
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        assert!(is_name(name) && labels.ends_with('}'), "{line}");
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
        assert!(
            types.contains_key(name) || family.is_some_and(|family| types.contains_key(family)),
            "no type: {line}"
        );
        assert!(samples.insert(series.to_owned(), value.parse().expect(line)).is_none(), "twice: {line}");
    }
    samples
}

/// The upper bounds of a histogram's buckets.
fn bounds(samples: &BTreeMap<String, f64>, name: &str) -> Vec<f64> {
    let bucket = format!("{name}_bucket{{");
    let le = |series: &String| {
        let (_, le) = series.strip_prefix(&bucket)?.rsplit_once("le=\"")?;
        le.trim_end_matches("\"}").parse().ok()
    };
    let mut bounds: Vec<f64> = samples.keys().filter_map(le).collect();
    bounds.sort_by(f64::total_cmp);
    bounds
}

#[test]
fn histograms_have_the_buckets_of_dashboards() {
    let recorder = builder().unwrap().build_recorder();
    let endpoint = MetricsEndpoint::new(recorder.handle());
    let others =
        ["controller_runtime_webhook_latency_seconds", "own_seconds"].map(|name| (name, DEFAULT_BUCKETS));
    let names: Vec<_> = kube_runtime::metrics::BUCKETS.iter().copied().chain(others).collect();
    metrics::with_local_recorder(&recorder, || {
        for (name, _) in names.iter().copied() {
            metrics::histogram!(name, "controller" => "a \"quoted\"\n name").record(0.3);
        }
    });
    let samples = parse(&endpoint.render());
    for (name, expected) in names.iter().copied() {
        let bounds = bounds(&samples, name);
        assert_eq!(&bounds[..bounds.len() - 1], expected, "{name}");
        assert_eq!(bounds.last(), Some(&f64::INFINITY));
        let count = samples.iter().find(|(series, _)| series.starts_with(&format!("{name}_count")));
        assert_eq!(count.unwrap().1, &1.0, "{name}");
    }
    assert_eq!((names[0].0, names[0].1.len()), ("controller_runtime_reconcile_time_seconds", 40));
}

#[test]
fn installing_twice_returns_the_same_metrics() {
    let (first, second) = (MetricsEndpoint::install().unwrap(), MetricsEndpoint::install().unwrap());
    metrics::counter!("installed_twice_total").increment(3);
    metrics::counter!("rest_client_requests_total").increment(1);
    assert!(
        first.render().contains("# HELP rest_client_requests_total "),
        "described for clients of any age"
    );
    assert_eq!(parse(&first.render())["installed_twice_total"], 3.0);
    assert_eq!(parse(&second.render())["installed_twice_total"], 3.0);
}

#[tokio::test]
async fn the_endpoint_serves_text() {
    let recorder = builder().unwrap().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        metrics::describe_gauge!("pages", "Pages\nby colour");
        metrics::gauge!("pages", "colour" => "red").set(2.5);
    });
    let router = MetricsEndpoint::new(recorder.handle()).router();
    let request =
        |method: &str| Request::builder().method(method).uri("/metrics").body(Body::empty()).unwrap();
    let response = router.clone().oneshot(request("GET")).await.unwrap();
    assert_eq!(response.headers()["content-type"], TEXT);
    let body = to_bytes(response.into_body(), 10_000).await.unwrap();
    let text = std::str::from_utf8(&body).unwrap();
    assert_eq!(parse(text)["pages{colour=\"red\"}"], 2.5);
    assert!(text.contains("# HELP pages Pages\\nby colour\n"), "{text}");
    assert_eq!(router.oneshot(request("POST")).await.unwrap().status(), 405);
}

#[tokio::test(start_paused = true)]
async fn upkeep_moves_samples_into_buckets_without_a_scrape() {
    let recorder = builder().unwrap().build_recorder();
    let endpoint = MetricsEndpoint::new(recorder.handle());
    metrics::with_local_recorder(&recorder, || metrics::histogram!("x_seconds").record(0.3));
    let never = tokio::time::timeout(Duration::from_secs(60), endpoint.clone().upkeep()).await;
    assert!(never.is_err());
    assert_eq!(parse(&endpoint.render())["x_seconds_count"], 1.0);
}
