//! The text format of JSON documents: compact, indented or YAML.

use http::{HeaderMap, HeaderValue, Response, header, request::Parts};
use serde_json::Value;

use super::body::Body;
use crate::{ids, response, route::Query};

/// The text format of documents, for objects and errors alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    Json,
    /// Indented by two spaces.
    Pretty,
    Yaml,
}

impl OutputFormat {
    /// Reads `pretty` in the query; without it, clients for interactive use get indented JSON.
    pub(crate) fn of(parts: &Parts) -> Self {
        if response::wants_yaml(text(&parts.headers, header::ACCEPT)) {
            return Self::Yaml;
        }
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let agent = text(&parts.headers, header::USER_AGENT);
        let by_hand = ["curl", "Wget", "Mozilla/5.0"].iter().any(|start| agent.starts_with(start));
        let pretty = if query.has("pretty") { query.flag("pretty") } else { by_hand };
        if pretty { Self::Pretty } else { Self::Json }
    }

    /// Reformats a JSON document; streams and other media types stay as they are. Adds the headers that every response has.
    pub(crate) fn finish(self, mut response: Response<Body>) -> Response<Body> {
        if let Ok(id) = HeaderValue::from_str(&ids::uid()) {
            response.headers_mut().insert("audit-id", id);
        }
        let plain = response.headers().get(header::CONTENT_TYPE).is_some_and(|t| t == "application/json");
        if self == Self::Json || !plain {
            return response;
        }
        let Some(document) = response.body().document() else { return response };
        if let Some(text) = self.write(&document) {
            *response.body_mut() = Body::whole(text);
            if self == Self::Yaml {
                let yaml = HeaderValue::from_static("application/yaml");
                response.headers_mut().insert(header::CONTENT_TYPE, yaml);
            }
        }
        response
    }

    fn write(self, document: &Value) -> Option<String> {
        match self {
            Self::Json => serde_json::to_string(document).ok(),
            Self::Pretty => serde_json::to_string_pretty(document).ok(),
            Self::Yaml => serde_saphyr::to_string(document).ok(),
        }
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(query: &str, accept: &str, agent: &str) -> OutputFormat {
        let request = http::Request::get(format!("/api{query}"));
        let request = request.header(header::ACCEPT, accept).header(header::USER_AGENT, agent);
        OutputFormat::of(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn interactive_clients_get_indented_json() {
        assert_eq!(form("", "*/*", "curl/8"), OutputFormat::Pretty);
        assert_eq!(form("?pretty=false", "*/*", "curl/8"), OutputFormat::Json);
        assert_eq!(form("?pretty", "application/json", "kubectl/v1"), OutputFormat::Pretty);
        assert_eq!(form("", "application/json", "kubectl/v1"), OutputFormat::Json);
        assert_eq!(form("", "application/yaml, application/json", "x"), OutputFormat::Yaml);
        assert_eq!(form("", "application/json, application/yaml", "x"), OutputFormat::Json);
    }

    #[test]
    fn yaml_round_trips() {
        let object = json!({"metadata": {"name": "yes", "labels": {"a": "1", "b": "", "c": "x: y\nz"}}, "n": 1, "l": []});
        let text = OutputFormat::Yaml.write(&object).unwrap();
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), object);
    }
}
