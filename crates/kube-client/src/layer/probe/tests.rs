//! Servers that are silent because they have nothing to send, and servers that are dead.

use std::sync::{Arc, Mutex};

use futures::{StreamExt, stream};
use http_body_util::StreamBody;

use super::*;

const LOG: &str = "/api/v1/namespaces/a/pods/b/log?follow=true&container=c&tailLines=5";
const PROXIED: &str = "/api/v1/namespaces/a/services/b/proxy/slow";
const HOURS: Duration = Duration::from_secs(7200);

/// What the server does with a probe request.
#[derive(Clone, Copy, Debug)]
enum OnProbe {
    Responds(u16, &'static str),
    Hangs,
    Refuses,
    /// The probe request is not sent.
    CredentialsFail,
    CredentialsHang,
}

/// A request and the behaviour of its server. Its result: the error that ended the request or `None` if it was open after hours, the
/// seconds until then, and the probe requests.
struct Case {
    uri: &'static str,
    version: Version,
    /// Seconds until the head; then seconds before each frame.
    head: u64,
    pauses: &'static [u64],
    on_probe: OnProbe,
}

const SILENT_LOG: Case =
    Case { uri: LOG, version: Version::HTTP_11, head: 0, pauses: &[], on_probe: OnProbe::Responds(200, "") };

impl Case {
    async fn run(self) -> (Option<String>, u64, Vec<String>) {
        let probes = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&probes);
        let server = tower::service_fn(move |request: Request<Body>| {
            let received = Arc::clone(&received);
            async move {
                let is_probe = request.extensions().get::<FreshConnection>().is_some();
                let waits = matches!(self.on_probe, OnProbe::CredentialsFail | OnProbe::CredentialsHang);
                if !(is_probe && waits) {
                    NegotiatedVersion::record(&request, self.version);
                }
                let (head, pauses, rest) = if !is_probe {
                    sleep(Duration::from_secs(self.head)).await;
                    (200, self.pauses, "")
                } else {
                    received.lock().unwrap().push(request.uri().to_string());
                    match self.on_probe {
                        OnProbe::Responds(status, text) => (status, &[][..], text),
                        OnProbe::Hangs => std::future::pending().await,
                        OnProbe::Refuses => return Err("refused".into()),
                        OnProbe::CredentialsFail => return Err(AuthError::MissingCommand.into()),
                        OnProbe::CredentialsHang => std::future::pending().await,
                    }
                };
                let frames = stream::iter(pauses).then(|pause| async move {
                    sleep(Duration::from_secs(*pause)).await;
                    Ok::<_, BoxError>(Frame::data(Bytes::from_static(b"x")))
                });
                let text = stream::iter((!rest.is_empty()).then(|| Ok(Frame::data(Bytes::from(rest)))));
                let end =
                    if is_probe { stream::empty().left_stream() } else { stream::pending().right_stream() };
                let body = StreamBody::new(Box::pin(frames.chain(text).chain(end)));
                Ok::<_, BoxError>(Response::builder().version(self.version).status(head).body(body)?)
            }
        });
        let started = Instant::now();
        let service = ProbeLayer::new(Duration::from_secs(55)).layer(server);
        let reading = async {
            let request = Request::get(self.uri).body(Body::empty()).unwrap();
            let mut body = service.oneshot(request).await?.into_body();
            while let Some(frame) = body.frame().await {
                frame?;
            }
            Ok::<_, BoxError>(())
        };
        let ended = timeout(HOURS, reading).await.ok().map(|ended| match ended {
            Ok(()) => "the body ended".to_owned(),
            Err(err) => {
                assert_eq!(
                    err.downcast_ref::<io::Error>().map(io::Error::kind),
                    Some(io::ErrorKind::TimedOut)
                );
                format!("{err}: {}", err.source().unwrap())
            }
        });
        let probes = probes.lock().unwrap().clone();
        (ended, started.elapsed().as_secs(), probes)
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_log_stays_open_while_the_server_has_no_newer_lines() {
    let (ended, _, probes) = SILENT_LOG.run().await;
    assert_eq!(ended, None);
    assert_eq!(probes[0], "/api/v1/namespaces/a/pods/b/log?container=c&sinceSeconds=36&limitBytes=1");
    assert!((150..200).contains(&probes.len()), "{}", probes.len());
    // Reading the log may be forbidden by now, or the node unreachable: the API server is alive.
    for status in [400, 403, 500, 503] {
        let (ended, ..) = Case { on_probe: OnProbe::Responds(status, "no"), ..SILENT_LOG }.run().await;
        assert_eq!(ended, None, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_whose_newer_lines_do_not_arrive_is_an_error() {
    for (on_probe, why) in [
        (OnProbe::Responds(200, "y"), "the log has newer lines that did not arrive"),
        (OnProbe::Responds(404, "gone"), "the log has newer lines that did not arrive"),
        (OnProbe::Hangs, "it did not respond on another connection either"),
        (OnProbe::Refuses, "refused"),
    ] {
        let (ended, took, _) = Case { on_probe, ..SILENT_LOG }.run().await;
        assert_eq!(ended, Some(format!("the server sent nothing for 55s: {why}")));
        assert_eq!(took, 55);
    }
}

#[tokio::test(start_paused = true)]
async fn a_frame_during_a_probe_ends_the_probe() {
    let case = Case { pauses: &[45, 54, 10], on_probe: OnProbe::Responds(200, "y"), ..SILENT_LOG };
    let (ended, took, probes) = case.run().await;
    assert!(ended.is_some());
    assert_eq!((took, probes.len()), (45 + 54 + 10 + 55, 3));
}

#[tokio::test(start_paused = true)]
async fn a_proxied_request_stays_open_while_the_server_responds_to_probes() {
    for (head, pauses) in [(7000, &[][..]), (0, &[]), (100, &[100, 100])] {
        let case = Case { uri: PROXIED, head, pauses, ..SILENT_LOG };
        let (ended, _, probes) = case.run().await;
        assert_eq!(ended, None);
        assert!(probes.len() > 100 && probes.iter().all(|probe| probe == "/version"));
    }
    for (head, expected) in [(7000, 55), (50, 50 + 55), (10, 10 + 55)] {
        let case = Case { uri: PROXIED, head, on_probe: OnProbe::Hangs, ..SILENT_LOG };
        let (ended, took, _) = case.run().await;
        assert!(ended.is_some());
        assert_eq!(took, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_without_credentials_does_not_end_the_request() {
    for on_probe in [OnProbe::CredentialsFail, OnProbe::CredentialsHang] {
        for head in [0, 7000] {
            let (ended, _, probes) = Case { on_probe, head, ..SILENT_LOG }.run().await;
            assert_eq!(ended, None, "{on_probe:?}");
            // One probe for each period of silence.
            assert!((100..200).contains(&probes.len()), "{on_probe:?}: {}", probes.len());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_is_probed_before_its_head_arrives() {
    let (ended, _, probes) = Case { head: 7000, ..SILENT_LOG }.run().await;
    assert_eq!(ended, None);
    assert!(probes.iter().all(|probe| probe.contains("/log?")), "{}", probes[0]);
    let case = Case { head: 7000, on_probe: OnProbe::Responds(200, "y"), ..SILENT_LOG };
    let (ended, took, _) = case.run().await;
    assert!(ended.unwrap().contains("newer lines"));
    assert_eq!(took, 55);
}

#[tokio::test(start_paused = true)]
async fn there_are_no_probes_over_http2_or_for_other_requests() {
    for (uri, head) in [(LOG, 0), (LOG, 7000), (PROXIED, 7000)] {
        let (ended, _, probes) = Case { uri, head, version: Version::HTTP_2, ..SILENT_LOG }.run().await;
        assert_eq!((ended, probes.len()), (None, 0), "{uri} after {head} s");
    }
    let (ended, _, probes) = Case { uri: "/api/v1/pods", ..SILENT_LOG }.run().await;
    assert_eq!((ended, probes.len()), (None, 0));
}
