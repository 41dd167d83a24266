//! `/debug/controllers`: what the controllers of a process do now, as JSON for programs and as a page for people.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use kube_operator::debug::DebugPage;
//! use tower::ServiceExt;
//!
//! let page = DebugPage::new()
//!     .section("leader", || serde_json::json!({"state": "leading", "since_seconds": 3.5}))
//!     .section("controllers", || vec![serde_json::json!({"name": "pages", "queue": {"changes": 2}})]);
//! let app = page.router(); // merge it with other routes and serve it
//!
//! let request = http::Request::get("/debug/controllers").body(axum::body::Body::empty())?;
//! let response = app.oneshot(request).await?;
//! let body = axum::body::to_bytes(response.into_body(), 10_000).await?;
//! let json: serde_json::Value = serde_json::from_slice(&body)?;
//! assert_eq!(json["controllers"][0]["queue"]["changes"], 2);
//! # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! | request | response |
//! |---|---|
//! | `Accept: text/html`, as browsers send it, or `?format=html` | the page; with `?refresh=5` it loads again every 5 s |
//! | anything else, or `?format=json` | JSON: one field per section |
//!
//! The page is one document without scripts or other files; all text in it is escaped. It shows names of objects and messages of errors:
//! serve it where only operators of the program reach it, as metrics are.

mod html;
mod page;

pub use page::DebugPage;
