#![no_main]
//! Any requests to the test server: no panic, no hang, an answer to each.

#[path = "../../crates/kube-testserver/tests/it/fuzz/generate/mod.rs"]
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
            let answer = server.clone().oneshot(request).await.expect("nothing breaks without a fault");
            let mut body = answer.into_body();
            // Of a watch or a log, what comes at once.
            while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_millis(1), body.frame()).await {
                frame.expect("nothing breaks without a fault");
            }
        }
    });
});
