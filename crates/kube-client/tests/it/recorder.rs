//! Which requests a call sends; the tests of kube-tools include this file.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::sync::{Arc, Mutex};

use http::header::{ACCEPT, CONTENT_TYPE, UPGRADE};
use http::{Request, Response};
use kube_client::client::Body;
use kube_client::{Client, Error};
use serde_json::Value;

/// A client of a server that records requests, and responds to all of them with an object that decodes as any kind.
pub(crate) struct Recorder {
    pub(crate) client: Client,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        let server = tower::service_fn(move |request: Request<Body>| {
            let recorded = Arc::clone(&recorded);
            async move {
                let (head, body) = request.into_parts();
                let mut line = format!("{} {}", head.method, head.uri);
                for name in [ACCEPT, CONTENT_TYPE] {
                    // Only media types other than the default.
                    if let Some(value) = head.headers.get(&name)
                        && value != "application/json"
                    {
                        line.push_str(&format!(" [{}]", value.to_str().unwrap()));
                    }
                }
                if head.headers.contains_key(UPGRADE) {
                    line.push_str(" upgrade");
                }
                let body = body.collect_bytes().await?;
                if !body.is_empty() {
                    line.push_str(&format!(" {}", serde_json::from_slice::<Value>(&body)?));
                }
                recorded.lock().unwrap().push(line);
                let code = if head.headers.contains_key(UPGRADE) { 418 } else { 200 };
                let body = Body::from(br#"{"metadata":{"name":"a"},"items":[]}"#.to_vec());
                Ok::<_, tower::BoxError>(Response::builder().status(code).body(body).unwrap())
            }
        });
        Self { client: Client::new(server, "ns"), requests }
    }

    /// Asserts that the call sends exactly this request and succeeds.
    pub(crate) async fn expect<T>(&self, call: impl Future<Output = Result<T, Error>>, expected: &str) {
        let outcome = call.await;
        assert_eq!(self.requests.lock().unwrap().drain(..).collect::<Vec<_>>(), [expected]);
        match outcome {
            Ok(_) => {}
            Err(Error::Api(status)) if status.code == 418 && expected.contains(" upgrade") => {}
            Err(err) => panic!("{expected}: {err:?}"),
        }
    }
}
