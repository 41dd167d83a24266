//! The requests for subresources: paths, queries and bodies.

use serde_json::json;

use super::{EvictParams, LogParams};
use crate::{
    Request,
    params::{DeleteParams, PostParams},
    request::Error,
};

fn pods() -> Request {
    Request::new("/api/v1/namespaces/web/pods")
}

fn rejection(request: Result<http::Request<Vec<u8>>, Error>) -> String {
    match request.expect_err("the parameters are not valid") {
        Error::Validation(why) => why,
        other => panic!("another error: {other:?}"),
    }
}

fn body(request: &http::Request<Vec<u8>>) -> serde_json::Value {
    serde_json::from_slice(request.body()).expect("JSON")
}

#[test]
fn logs() {
    let plain = pods().logs("a", &LogParams::default()).expect("valid");
    assert_eq!(plain.method(), "GET");
    assert_eq!(plain.uri(), "/api/v1/namespaces/web/pods/a/log?");
    assert_eq!(plain.headers()["accept"], "*/*");
    assert!(plain.body().is_empty());
    let all = LogParams {
        container: Some("app".into()),
        follow: true,
        limit_bytes: Some(1),
        pretty: true,
        previous: true,
        since_seconds: Some(1),
        since_time: None,
        tail_lines: Some(0),
        timestamps: true,
    };
    assert_eq!(
        pods().logs("a", &all).expect("valid").uri().query(),
        Some(
            "&container=app&follow=true&limitBytes=1&pretty=true&previous=true&sinceSeconds=1&tailLines=0&timestamps=true"
        )
    );
    let since = LogParams {
        since_time: Some("2024-05-06T07:08:09.25Z".parse().expect("valid")),
        ..LogParams::default()
    };
    assert_eq!(
        pods().logs("a", &since).expect("valid").uri().query(),
        Some("&sinceTime=2024-05-06T07%3A08%3A09.25Z")
    );
    assert!(
        rejection(pods().logs("a", &LogParams { since_seconds: Some(5), ..since }))
            .contains("at most one of")
    );
    let none = LogParams::default;
    assert_eq!(
        rejection(pods().logs("a", &LogParams { tail_lines: Some(-1), ..none() })),
        "tail_lines is -1, expected at least 0"
    );
    assert!(
        rejection(pods().logs("a", &LogParams { limit_bytes: Some(0), ..none() })).contains("at least 1")
    );
    assert!(
        rejection(pods().logs("a", &LogParams { since_seconds: Some(0), ..none() })).contains("at least 1")
    );
    assert!(rejection(pods().logs("../b", &none())).contains("the name"));
}

#[test]
fn evict() {
    let plain = pods().evict("a", &EvictParams::default()).expect("valid");
    assert_eq!(plain.method(), "POST");
    assert_eq!(plain.uri(), "/api/v1/namespaces/web/pods/a/eviction?");
    assert_eq!(plain.headers()["content-type"], "application/json");
    // Without an `apiVersion`, servers use the version that they support: `policy/v1` since 1.22, `v1beta1` before.
    assert_eq!(body(&plain), json!({"metadata": {"name": "a"}}));
    let params = EvictParams {
        delete_options: Some(DeleteParams::default().grace_period(3)),
        post_options: PostParams { dry_run: true, field_manager: None },
    };
    let full = pods().evict("a", &params).expect("valid");
    assert_eq!(full.uri().query(), Some("&dryRun=All"));
    assert_eq!(body(&full)["deleteOptions"], json!({"gracePeriodSeconds": 3}));
}

#[test]
fn cordon_and_uncordon() {
    let nodes = Request::new("/api/v1/nodes");
    for (request, expected) in [(nodes.cordon("n"), true), (nodes.uncordon("n"), false)] {
        let request = request.expect("valid");
        assert_eq!(request.method(), "PATCH");
        assert_eq!(request.uri(), "/api/v1/nodes/n?");
        assert_eq!(request.headers()["content-type"], "application/merge-patch+json");
        assert_eq!(body(&request), json!({"spec": {"unschedulable": expected}}));
    }
}

#[cfg(feature = "ws")]
mod streams {
    use super::{pods, rejection};
    use crate::subresource::AttachParams;

    #[test]
    fn exec() {
        let ap = AttachParams::default().container("app");
        let request = pods().exec("a", ["sh", "-c", "echo 'a & b'"], &ap).expect("valid");
        assert_eq!(request.method(), "GET");
        assert_eq!(
            request.uri(),
            "/api/v1/namespaces/web/pods/a/exec?&stdout=true&stderr=true&container=app&command=sh&command=-c\
             &command=echo+%27a+%26+b%27"
        );
        assert!(rejection(pods().exec("a", Vec::<String>::new(), &ap)).contains("the command is empty"));
        assert!(rejection(pods().exec("a", [""], &ap)).contains("the command is empty"));
    }

    #[test]
    fn attach() {
        let request = pods().attach("a", &AttachParams::interactive_tty()).expect("valid");
        assert_eq!(request.uri(), "/api/v1/namespaces/web/pods/a/attach?&stdin=true&stdout=true&tty=true");
        let no_output = AttachParams::default().stdout(false).stderr(false);
        assert!(rejection(pods().attach("a", &no_output)).contains("one of stdin, stdout, or stderr"));
        assert!(pods().attach("a", &no_output.stdin(true)).is_ok());
        assert!(rejection(pods().attach("a", &AttachParams::default().tty(true))).contains("tty and stderr"));
    }

    #[test]
    fn portforward() {
        let request = pods().portforward("a", &[80, 8443]).expect("valid");
        assert_eq!(request.method(), "GET");
        assert_eq!(request.uri(), "/api/v1/namespaces/web/pods/a/portforward?&ports=80%2C8443");
        assert!(rejection(pods().portforward("a", &[])).contains("ports cannot be empty"));
        assert!(rejection(pods().portforward("a", &[0])).contains("port 0"));
        assert_eq!(
            rejection(pods().portforward("a", &[80, 81, 80])),
            "ports must be unique, found multiple 80"
        );
        let many: Vec<u16> = (1..=129).collect();
        assert!(pods().portforward("a", &many[..128]).is_ok());
        assert!(rejection(pods().portforward("a", &many)).contains("129 ports"));
    }
}
