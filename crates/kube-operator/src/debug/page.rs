//! The sections, and their representation by the request.

use std::{fmt, panic::AssertUnwindSafe, sync::Arc};

use futures::{
    FutureExt,
    future::{BoxFuture, join_all, ready},
};

use axum::{
    Router,
    extract::RawQuery,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, StatusCode, header};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::html;

type Section = dyn Fn() -> BoxFuture<'static, Value> + Send + Sync;

/// The sections of the page, in order. Cloning is cheap.
#[derive(Clone, Default)]
pub struct DebugPage {
    sections: Vec<(String, Arc<Section>)>,
}

impl DebugPage {
    /// Without sections.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a section: a field of the JSON, a heading of the page. The closure is called for each request and must not block. A list of
    /// objects with a `name` is shown as one block each, other objects and lists as tables; fields that end in `_seconds` as durations.
    /// A later section of the same name replaces an earlier one.
    #[must_use]
    pub fn section<T: Serialize>(
        self,
        name: impl Into<String>,
        content: impl Fn() -> T + Send + Sync + 'static,
    ) -> Self {
        // Encoded at once: then a content need not be `Send`.
        self.add(name.into(), move || ready(serde_json::to_value(content())))
    }

    /// Like [`section`](Self::section), for a content that takes some time. Sections are made at the same time, and the page waits for all:
    /// limit the time. The future is dropped when the client of the request leaves.
    #[must_use]
    pub fn asynchronous_section<T: Serialize + 'static, F: Future<Output = T> + Send + 'static>(
        self,
        name: impl Into<String>,
        content: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self {
        self.add(name.into(), move || content().map(serde_json::to_value))
    }

    fn add<F>(mut self, name: String, content: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = serde_json::Result<Value>> + Send + 'static,
    {
        let content = Arc::new(content);
        let section = move || {
            // The closure may panic too, so it is called within the future.
            let content = Arc::clone(&content);
            let encoded = AssertUnwindSafe(async move { content().await }).catch_unwind();
            let shown = encoded.map(|encoded| match encoded {
                Ok(Ok(content)) => content,
                Ok(Err(error)) => json!({ "error": format!("cannot be encoded: {error}") }),
                Err(_) => json!({ "error": "the section panicked" }),
            });
            shown.boxed()
        };
        self.sections.retain(|(known, _)| *known != name);
        self.sections.push((name, Arc::new(section)));
        self
    }

    /// `/debug/controllers`, to be merged with other routes.
    pub fn router(&self) -> Router {
        let page = self.clone();
        let respond = move |RawQuery(query): RawQuery, headers: HeaderMap| async move {
            page.respond(&query.unwrap_or_default(), &headers).await
        };
        Router::new().route("/debug/controllers", get(respond))
    }

    /// The content of all sections.
    pub async fn json(&self) -> Value {
        Value::Object(self.contents().await.into_iter().collect::<Map<_, _>>())
    }

    async fn contents(&self) -> Vec<(String, Value)> {
        let contents = self.sections.iter().map(|(name, content)| async { (name.clone(), content().await) });
        join_all(contents).await
    }

    async fn respond(&self, query: &str, headers: &HeaderMap) -> Response {
        let (mut as_html, mut refresh) = (prefers_html(headers), None);
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match (key.as_ref(), value.as_ref()) {
                ("format", "html") => as_html = true,
                ("format", "json") => as_html = false,
                ("format", other) => {
                    let message = format!("format: expected html or json, found {other:?}\n");
                    return (StatusCode::BAD_REQUEST, message).into_response();
                }
                ("refresh", seconds) => refresh = seconds.parse::<u32>().ok().filter(|seconds| *seconds > 0),
                _ => {}
            }
        }
        let (content_type, body) = if as_html {
            ("text/html; charset=utf-8", html::page(&self.contents().await, refresh))
        } else {
            ("application/json", format!("{:#}\n", self.json().await))
        };
        let headers = [
            (header::CONTENT_TYPE, content_type),
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (
                header::CONTENT_SECURITY_POLICY,
                "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
            ),
            (header::VARY, "Accept"),
        ];
        (headers, body).into_response()
    }
}

impl fmt::Debug for DebugPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sections.iter().map(|(name, _)| name)).finish()
    }
}

/// Whether `text/html` has a higher quality than JSON. `*/*` alone, as curl sends it, means JSON.
fn prefers_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = accepted.flat_map(|value| value.split(',')).map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        (media_type, quality.unwrap_or(1.0))
    });
    let ranges: Vec<_> = ranges.collect();
    let quality = |media_type: &str| {
        let found = ranges.iter().filter(|(range, _)| range == media_type).map(|(_, quality)| *quality);
        found.fold(0.0, f32::max)
    };
    quality("text/html") > quality("application/json")
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
