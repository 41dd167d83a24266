//! The debug page over HTTP, as JSON and as HTML.

use axum::body::{Body, to_bytes};
use http::Request;
use tower::ServiceExt;

use super::*;

async fn get_page(page: &DebugPage, query: &str, accept: &str) -> (StatusCode, String, String) {
    let request = Request::get(format!("/debug/controllers{query}")).header("accept", accept);
    let response = page.router().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    let code = response.status();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (code, content_type, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn browsers_get_a_page_and_programs_get_json() {
    let page = DebugPage::new().section("controllers", || json!([{"name": "pages"}]));
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (query, accept, is_html) in [
        ("", browser, true),
        ("?refresh=5", browser, true),
        ("?format=json", browser, false),
        ("", "*/*", false),
        ("", "application/json", false),
        ("", "text/html;q=0.5, application/json", false),
        ("", "application/json;q=0.5, TEXT/HTML", true),
        ("?format=html", "*/*", true),
    ] {
        let (code, content_type, body) = get_page(&page, query, accept).await;
        assert_eq!(code, 200);
        let expected = if is_html { "text/html; charset=utf-8" } else { "application/json" };
        assert_eq!(content_type, expected, "{query} {accept}");
        assert!(body.contains("pages") && body.starts_with(if is_html { "<!doctype html>" } else { "{" }));
    }
    let (code, _, message) = get_page(&page, "?format=xml", "*/*").await;
    assert_eq!((code.as_u16(), message.as_str()), (400, "format: expected html or json, found \"xml\"\n"));
}

#[tokio::test]
async fn each_request_shows_the_state_of_its_time_and_a_panic_stays_in_its_section() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let page = DebugPage::new()
        .section("count", || 0)
        .section("bad", || -> u8 { panic!("on purpose") })
        .asynchronous_section("worse", async || -> u8 { panic!("on purpose") })
        .asynchronous_section("slow", async || {
            tokio::task::yield_now().await;
            7
        })
        .section("unencodable", || std::collections::HashMap::from([(vec![1], 1)]))
        .section("count", move || count.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let (first, second) = (page.json().await, page.json().await);
    assert_eq!((&first["count"], &second["count"]), (&json!(0), &json!(1)));
    for section in ["bad", "worse"] {
        assert_eq!(first[section]["error"], "the section panicked");
    }
    assert_eq!(first["slow"], 7);
    let unencodable = first["unencodable"]["error"].as_str().unwrap();
    assert!(unencodable.starts_with("cannot be encoded: key must be a string"));
    let (code, _, body) = get_page(&page, "?format=html", "*/*").await;
    assert!(code == 200 && body.contains("the section panicked"));
    assert_eq!(format!("{page:?}"), r#"["bad", "worse", "slow", "unencodable", "count"]"#);
}
