//! Arbitrary requests to the test server: each gets a response, without a panic or hang.
#![no_main]

#[path = "../../testserver/server/tests/it/fuzz/generate/mod.rs"]
mod generate;

use std::time::Duration;

use http_body_util::BodyExt;
use kube_testserver::ApiServer;
use libfuzzer_sys::fuzz_target;
use tower::ServiceExt;

fuzz_target!(|data: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime can be built").block_on(async {
        let server = ApiServer::new();
        for request in generate::requests(data) {
            let response =
                server.clone().oneshot(request).await.expect("responses fail only with a fault rule");
            let mut body = response.into_body();
            // A watch or a log does not end: read what is available immediately.
            while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_millis(1), body.frame()).await {
                frame.expect("responses fail only with a fault rule");
            }
        }
    });
});
