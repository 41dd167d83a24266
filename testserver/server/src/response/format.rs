//! The format of documents: JSON, compact or indented, YAML or protobuf; and of the events of a watch.

use bytes::Bytes;
use futures::StreamExt;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header, request::Parts};
use serde_json::{Value, json};

use super::{body::Body, respond};
use crate::{
    ids, protobuf,
    response::{self, Media},
    route::Query,
    status_error::StatusError,
};

const EVENTS: HeaderValue = HeaderValue::from_static("application/vnd.kubernetes.protobuf;stream=watch");

/// The format of documents, for objects and errors alike. A response whose media type was negotiated for its resource has it as an
/// extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutputFormat {
    media: Media,
    /// JSON is indented by two spaces.
    pretty: bool,
}

impl OutputFormat {
    /// Reads `pretty` in the query; without it, clients for interactive use get indented JSON.
    pub(crate) fn of(parts: &Parts) -> Self {
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let agent = text(&parts.headers, header::USER_AGENT);
        let by_hand = ["curl", "Wget", "Mozilla/5.0"].iter().any(|start| agent.starts_with(start));
        let pretty = if query.has("pretty") { query.flag("pretty") } else { by_hand };
        Self { media: response::document_media(text(&parts.headers, header::ACCEPT)), pretty }
    }

    /// Reformats a JSON document and the JSON lines of a watch; other media types stay as they are. Adds the headers that every response
    /// has.
    pub(crate) fn finish(self, mut response: Response<Body>) -> Response<Body> {
        if let Ok(id) = HeaderValue::from_str(&ids::uid()) {
            response.headers_mut().insert("audit-id", id);
        }
        let plain = response.headers().get(header::CONTENT_TYPE).is_some_and(|t| t == "application/json");
        let media = response.extensions().get().copied().unwrap_or(self.media);
        if !plain || media == Media::Json && !self.pretty {
            return response;
        }
        let Some(document) = response.body().document() else {
            return if media == Media::Protobuf { in_frames(response) } else { response };
        };
        match media {
            Media::Json => {
                if let Ok(text) = serde_json::to_string_pretty(&document) {
                    *response.body_mut() = Body::whole(text);
                }
            }
            Media::Yaml => {
                if let Ok(text) = serde_saphyr::to_string(&document) {
                    replace(&mut response, text, HeaderValue::from_static("application/yaml"));
                }
            }
            // Documents without a kind are always JSON.
            Media::Protobuf if protobuf::is_encodable(&document) => match protobuf::encode(&document) {
                Ok(bytes) => {
                    let media = HeaderValue::from_static("application/vnd.kubernetes.protobuf");
                    replace(&mut response, bytes, media);
                }
                Err(why) => return respond::status_error(&StatusError::internal(why)),
            },
            Media::Protobuf => {}
        }
        response
    }
}

/// A JSON line in the format of the events of a response.
pub(crate) fn event(response: &Response<Body>, line: Bytes) -> Bytes {
    if response.headers().get(header::CONTENT_TYPE) == Some(&EVENTS) { frame(&line) } else { line }
}

/// Turns the JSON lines of a watch into frames.
fn in_frames(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(header::CONTENT_TYPE, EVENTS);
    response.map(|body| match body.into_lines() {
        Ok(lines) => Body::lines(lines.map(|line| line.map(|line| frame(&line))).boxed()),
        Err(whole) => Body::whole(whole),
    })
}

fn frame(line: &[u8]) -> Bytes {
    let event = serde_json::from_slice::<Value>(line).map_err(|why| why.to_string());
    let framed = event.and_then(|event| protobuf::watch_frame(&event)).or_else(|why| {
        let failure = StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", why);
        protobuf::watch_frame(&json!({"type": "ERROR", "object": failure.status()}))
    });
    framed.expect("invariant: a Status is encodable").into()
}

fn replace(response: &mut Response<Body>, body: impl Into<Bytes>, media: HeaderValue) {
    *response.body_mut() = Body::whole(body);
    response.headers_mut().insert(header::CONTENT_TYPE, media);
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn format(query: &str, accept: &str, agent: &str) -> (Media, bool) {
        let request = http::Request::get(format!("/api{query}"));
        let request = request.header(header::ACCEPT, accept).header(header::USER_AGENT, agent);
        let format = OutputFormat::of(&request.body(()).unwrap().into_parts().0);
        (format.media, format.pretty)
    }

    fn shown(media: Media, document: &Value) -> String {
        let format = OutputFormat { media, pretty: false };
        let response = format.finish(respond::document(StatusCode::OK, document));
        String::from_utf8_lossy(&response.into_body().into_lines().err().unwrap()).into()
    }

    #[test]
    fn interactive_clients_get_indented_json() {
        assert_eq!(format("", "*/*", "curl/8"), (Media::Json, true));
        assert_eq!(format("?pretty=false", "*/*", "curl/8"), (Media::Json, false));
        assert_eq!(format("?pretty", "application/json", "kubectl/v1"), (Media::Json, true));
        assert_eq!(format("", "application/json", "kubectl/v1"), (Media::Json, false));
        assert_eq!(format("", "application/yaml, application/json", "x"), (Media::Yaml, false));
        assert_eq!(format("", "application/json, application/yaml", "x"), (Media::Json, false));
    }

    #[test]
    fn yaml_round_trips() {
        let object = json!({"metadata": {"name": "yes", "labels": {"a": "1", "b": "", "c": "x: y\nz"}}, "n": 1, "l": []});
        let text = shown(Media::Yaml, &object);
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), object);
    }

    #[test]
    fn documents_without_a_message_stay_json() {
        assert_eq!(shown(Media::Protobuf, &json!({"major": "1"})), "{\"major\":\"1\"}");
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": 404});
        assert!(shown(Media::Protobuf, &status).starts_with("k8s\0"));
        let wrong = json!({"kind": "Status", "apiVersion": "v1", "code": "404"});
        assert!(shown(Media::Protobuf, &wrong).contains("code: expected an integer"));
    }
}
