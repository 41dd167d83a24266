//! The endpoints of health checks, request by request.

use axum::body::{Body, to_bytes};
use http::Request;
use tokio::time::Instant;
use tower::ServiceExt;

use super::*;

async fn probe(health: &Health, path: &str) -> (u16, String) {
    let response = health.router().oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.headers()[header::CONTENT_TYPE], "text/plain; charset=utf-8");
    let code = response.status().as_u16();
    let body = to_bytes(response.into_body(), 10_000).await.unwrap();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

fn good(name: &str) -> Check {
    Check::new(name, || Ok::<_, String>(()))
}

fn bad(name: &str) -> Check {
    Check::new(name, || Err("secret reason"))
}

#[tokio::test]
async fn success_is_ok_and_verbose_names_each_check() {
    let health = Health::new().live(good("queue")).ready(good("cache"));
    for path in ["/livez", "/readyz", "/healthz"] {
        assert_eq!(probe(&health, path).await, (200, "ok".into()), "{path}");
    }
    for (path, shown) in [
        ("/livez?verbose", "[+]ping ok\n[+]queue ok\nlivez check passed\n"),
        ("/healthz?verbose=1", "[+]ping ok\n[+]queue ok\nhealthz check passed\n"),
        ("/readyz?verbose=", "[+]ping ok\n[+]cache ok\nreadyz check passed\n"),
    ] {
        assert_eq!(probe(&health, path).await, (200, shown.into()), "{path}");
    }
}

#[tokio::test]
async fn a_failure_withholds_its_reason_except_on_its_own_path() {
    let health = Health::new().live(good("a")).live(bad("b")).live(good("c"));
    let shown = "[+]ping ok\n[+]a ok\n[-]b failed: reason withheld\n[+]c ok\nlivez check failed\n";
    assert_eq!(probe(&health, "/livez").await, (500, shown.into()));
    assert_eq!(probe(&health, "/livez/b").await, (500, "internal server error: secret reason\n".into()));
    assert_eq!(probe(&health, "/livez/c").await, (200, "ok".into()));
    assert_eq!(probe(&health, "/readyz").await, (200, "ok".into()), "readiness is apart");
    assert_eq!(probe(&health, "/readyz/b").await, (404, "there is no check \"b\"\n".into()));
}

#[tokio::test]
async fn excluded_checks_do_not_run_and_unknown_ones_are_named() {
    let health =
        Health::new().live(bad("a")).live(Check::new("b", || -> Result<(), String> { panic!("ran") }));
    assert_eq!(probe(&health, "/livez?exclude=a&exclude=b").await, (200, "ok".into()));
    let shown = "[+]ping ok\n[+]a excluded: ok\n[+]b excluded: ok\n\
        warn: some health checks cannot be excluded: no matches for \"x\", \"y z\"\nlivez check passed\n";
    let path = "/livez?verbose&exclude=a&exclude=b&exclude=x&exclude=y%20z";
    assert_eq!(probe(&health, path).await, (200, shown.into()));
}

#[tokio::test(start_paused = true)]
async fn slow_and_panicking_checks_fail_without_adding_up() {
    let health = Health::new()
        .live(Check::asynchronous("hangs", std::future::pending::<Result<(), String>>))
        .live(
            Check::asynchronous("slow", std::future::pending::<Result<(), String>>)
                .timeout(Duration::from_secs(3)),
        )
        .live(Check::new("panics", || -> Result<(), String> { panic!("on purpose") }))
        .live(Check::asynchronous("in time", async || {
            tokio::time::sleep(Duration::from_millis(900)).await;
            Ok::<_, String>(())
        }));
    let begun = Instant::now();
    let (code, shown) = probe(&health, "/livez").await;
    assert_eq!((code, begun.elapsed().as_secs()), (500, 3));
    let expected = "[+]ping ok\n[-]hangs failed: reason withheld\n[-]slow failed: reason withheld\n\
        [-]panics failed: reason withheld\n[+]in time ok\nlivez check failed\n";
    assert_eq!(shown, expected);
    assert_eq!(probe(&health, "/livez/hangs").await.1, "internal server error: no result within 1s\n");
    assert_eq!(probe(&health, "/livez/panics").await.1, "internal server error: the check panicked\n");
    let unlimited = Health::new().live(good("x").timeout(Duration::MAX));
    assert_eq!(probe(&unlimited, "/livez").await.0, 200);
}

#[tokio::test]
async fn a_check_that_makes_its_future_by_panicking_has_failed() {
    fn refuse() -> std::future::Ready<Result<(), String>> {
        panic!("before the future")
    }
    assert_eq!(probe(&Health::new().live(Check::asynchronous("x", refuse)), "/livez").await.0, 500);
}

#[tokio::test]
async fn checks_come_and_go_while_serving_and_may_call_back() {
    let health = Health::new();
    let served = health.clone();
    health.add(Probe::Ready, bad("pages/watch"));
    health.add(Probe::Ready, good("pages/watch"));
    let (code, shown) = probe(&served, "/readyz").await;
    assert_eq!(
        (code, shown.matches("pages/watch").count()),
        (500, 2),
        "none of two checks of a name is lost"
    );
    assert_eq!(probe(&served, "/readyz/pages/watch").await.0, 500);
    let own = health.clone();
    health.add(
        Probe::Ready,
        Check::new("tidy", move || {
            own.remove(Probe::Ready, "pages/watch");
            Ok::<_, String>(())
        }),
    );
    assert_eq!(probe(&served, "/readyz").await.0, 500);
    assert_eq!(probe(&served, "/readyz").await.0, 200);
}

#[tokio::test]
async fn only_reading_is_allowed() {
    let router = Health::new().router();
    let request = |method: &str| Request::builder().method(method).uri("/livez").body(Body::empty()).unwrap();
    assert_eq!(router.clone().oneshot(request("HEAD")).await.unwrap().status(), 200);
    assert_eq!(router.oneshot(request("POST")).await.unwrap().status(), 405);
}
