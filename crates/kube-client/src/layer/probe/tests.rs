//! Servers that are quiet, for good reasons and for bad ones.

use std::sync::{Arc, Mutex};

use futures::{StreamExt, stream};
use http_body_util::StreamBody;

use super::*;

const LOG: &str = "/api/v1/namespaces/a/pods/b/log?follow=true&container=c&tailLines=5";
const PROXIED: &str = "/api/v1/namespaces/a/services/b/proxy/slow";
const HOURS: Duration = Duration::from_secs(7200);

/// What the server does when it is asked something.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Answers(u16, &'static str),
    IsSilent,
    Refuses,
    /// It never comes so far.
    CredentialsFail,
    CredentialsTakeLong,
}

/// A request, and what became of it: the error that ended it or `None` if it was open after hours, the seconds that took, and the
/// questions that came meanwhile.
struct Case {
    uri: &'static str,
    version: Version,
    /// Seconds until the head; then seconds before each piece.
    head: u64,
    pauses: &'static [u64],
    asked: Asked,
}

const QUIET_LOG: Case =
    Case { uri: LOG, version: Version::HTTP_11, head: 0, pauses: &[], asked: Asked::Answers(200, "") };

impl Case {
    async fn run(self) -> (Option<String>, u64, Vec<String>) {
        let questions = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&questions);
        let server = tower::service_fn(move |request: Request<Body>| {
            let heard = Arc::clone(&heard);
            async move {
                let is_question = request.extensions().get::<FreshConnection>().is_some();
                let waits = matches!(self.asked, Asked::CredentialsFail | Asked::CredentialsTakeLong);
                if !(is_question && waits) {
                    Carrier::note(&request, self.version);
                }
                let (head, pauses, rest) = if !is_question {
                    sleep(Duration::from_secs(self.head)).await;
                    (200, self.pauses, "")
                } else {
                    heard.lock().unwrap().push(request.uri().to_string());
                    match self.asked {
                        Asked::Answers(status, text) => (status, &[][..], text),
                        Asked::IsSilent => std::future::pending().await,
                        Asked::Refuses => return Err("refused".into()),
                        Asked::CredentialsFail => return Err(AuthError::MissingCommand.into()),
                        Asked::CredentialsTakeLong => std::future::pending().await,
                    }
                };
                let pieces = stream::iter(pauses).then(|pause| async move {
                    sleep(Duration::from_secs(*pause)).await;
                    Ok::<_, BoxError>(Frame::data(Bytes::from_static(b"x")))
                });
                let said = stream::iter((!rest.is_empty()).then(|| Ok(Frame::data(Bytes::from(rest)))));
                let end = if is_question {
                    stream::empty().left_stream()
                } else {
                    stream::pending().right_stream()
                };
                let body = StreamBody::new(Box::pin(pieces.chain(said).chain(end)));
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
            Ok(()) => "it just ended".to_owned(),
            Err(err) => {
                assert_eq!(
                    err.downcast_ref::<io::Error>().map(io::Error::kind),
                    Some(io::ErrorKind::TimedOut)
                );
                format!("{err}: {}", err.source().unwrap())
            }
        });
        let questions = questions.lock().unwrap().clone();
        (ended, started.elapsed().as_secs(), questions)
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_log_stays_open_while_the_server_has_no_newer_lines() {
    let (ended, _, questions) = QUIET_LOG.run().await;
    assert_eq!(ended, None);
    assert_eq!(questions[0], "/api/v1/namespaces/a/pods/b/log?container=c&sinceSeconds=36&limitBytes=1");
    assert!((150..200).contains(&questions.len()), "{}", questions.len());
    // It may not be read any more, or the node may be away: the server is there.
    for status in [400, 403, 500, 503] {
        let (ended, ..) = Case { asked: Asked::Answers(status, "no"), ..QUIET_LOG }.run().await;
        assert_eq!(ended, None, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_whose_lines_do_not_come_is_an_error() {
    for (asked, why) in [
        (Asked::Answers(200, "y"), "it has more to say, and that did not come"),
        (Asked::Answers(404, "gone"), "it has more to say, and that did not come"),
        (Asked::IsSilent, "it did not answer a question on another connection either"),
        (Asked::Refuses, "refused"),
    ] {
        let (ended, took, _) = Case { asked, ..QUIET_LOG }.run().await;
        assert_eq!(ended, Some(format!("the server sent nothing for 55s: {why}")));
        assert_eq!(took, 55);
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_while_the_server_is_asked_settles_it() {
    let case = Case { pauses: &[45, 54, 10], asked: Asked::Answers(200, "y"), ..QUIET_LOG };
    let (ended, took, questions) = case.run().await;
    assert!(ended.is_some());
    assert_eq!((took, questions.len()), (45 + 54 + 10 + 55, 3));
}

#[tokio::test(start_paused = true)]
async fn a_proxied_request_waits_as_long_as_the_server_is_there() {
    for (head, pauses) in [(7000, &[][..]), (0, &[]), (100, &[100, 100])] {
        let case = Case { uri: PROXIED, head, pauses, ..QUIET_LOG };
        let (ended, _, questions) = case.run().await;
        assert_eq!(ended, None);
        assert!(questions.len() > 100 && questions.iter().all(|question| question == "/version"));
    }
    for (head, expected) in [(7000, 55), (50, 50 + 55), (10, 10 + 55)] {
        let case = Case { uri: PROXIED, head, asked: Asked::IsSilent, ..QUIET_LOG };
        let (ended, took, _) = case.run().await;
        assert!(ended.is_some());
        assert_eq!(took, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_that_fail_or_take_long_are_not_the_servers_silence() {
    for asked in [Asked::CredentialsFail, Asked::CredentialsTakeLong] {
        for head in [0, 7000] {
            let (ended, _, questions) = Case { asked, head, ..QUIET_LOG }.run().await;
            assert_eq!(ended, None, "{asked:?}");
            // Once for each while of silence.
            assert!((100..200).contains(&questions.len()), "{asked:?}: {}", questions.len());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_whose_head_is_late_is_asked_for_its_lines() {
    let (ended, _, questions) = Case { head: 7000, ..QUIET_LOG }.run().await;
    assert_eq!(ended, None);
    assert!(questions.iter().all(|question| question.contains("/log?")), "{}", questions[0]);
    let case = Case { head: 7000, asked: Asked::Answers(200, "y"), ..QUIET_LOG };
    let (ended, took, _) = case.run().await;
    assert!(ended.unwrap().contains("it has more to say"));
    assert_eq!(took, 55);
}

#[tokio::test(start_paused = true)]
async fn nobody_asks_over_http2_or_under_other_requests() {
    for (uri, head) in [(LOG, 0), (LOG, 7000), (PROXIED, 7000)] {
        let (ended, _, questions) = Case { uri, head, version: Version::HTTP_2, ..QUIET_LOG }.run().await;
        assert_eq!((ended, questions.len()), (None, 0), "{uri} after {head} s");
    }
    let (ended, _, questions) = Case { uri: "/api/v1/pods", ..QUIET_LOG }.run().await;
    assert_eq!((ended, questions.len()), (None, 0));
}
