//! Requests and responses, and the ways to change them.

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri, request::Parts};
use serde_json::Value;

/// A request with its whole body.
#[derive(Clone)]
pub(crate) struct SentRequest {
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
}

/// A response with its whole body; null if the body is not JSON.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl SentRequest {
    pub(crate) fn path(&self) -> &str {
        self.parts.uri.path()
    }

    pub(crate) fn is(&self, method: Method) -> bool {
        self.parts.method == method
    }

    pub(crate) fn is_watch(&self) -> bool {
        let watch = |pair: &&str| matches!(*pair, "watch" | "watch=" | "watch=1" | "watch=true");
        self.is(Method::GET) && self.parameters().iter().any(|pair| watch(&pair.as_str()))
    }

    /// Whether the request is a patch of this content type.
    pub(crate) fn patches(&self, content_type: &str) -> bool {
        self.is(Method::PATCH) && self.header("content-type").starts_with(content_type)
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// `name=value` pairs of the query, as they were sent.
    fn parameters(&self) -> Vec<String> {
        let query = self.parts.uri.query().unwrap_or_default();
        query.split('&').filter(|pair| !pair.is_empty()).map(str::to_owned).collect()
    }

    /// Removes parameters from the query.
    pub(crate) fn drop_parameters(&mut self, names: &[&str]) {
        let mut pairs = self.parameters();
        pairs.retain(|pair| !names.contains(&pair.split('=').next().unwrap_or_default()));
        let path = self.path().to_owned();
        self.set_uri(&path, &pairs);
    }

    /// Adds a `name=value` pair to the query.
    pub(crate) fn add_parameter(&mut self, pair: &str) {
        let mut pairs = self.parameters();
        pairs.push(pair.to_owned());
        let path = self.path().to_owned();
        self.set_uri(&path, &pairs);
    }

    /// Cuts the end of the path off, if it ends so.
    pub(crate) fn drop_suffix(&mut self, suffix: &str) {
        if let Some(path) = self.path().strip_suffix(suffix).map(str::to_owned) {
            let pairs = self.parameters();
            self.set_uri(&path, &pairs);
        }
    }

    fn set_uri(&mut self, path: &str, pairs: &[String]) {
        let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
        self.parts.uri = format!("{path}{query}").parse::<Uri>().expect("parts of a URI form a URI");
    }

    pub(crate) fn set_content_type(&mut self, value: &'static str) {
        self.parts.headers.insert("content-type", http::HeaderValue::from_static(value));
    }

    /// Changes the body, if it is a JSON object.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Value)) {
        if let Ok(mut body) = serde_json::from_slice::<Value>(&self.body)
            && body.is_object()
        {
            change(&mut body);
            self.body = body.to_string().into();
            self.parts.headers.remove("content-length");
        }
    }

    /// Removes the values at JSON pointers of the body.
    pub(crate) fn drop_fields(&mut self, pointers: &[&str]) {
        self.edit(|body| pointers.iter().for_each(|pointer| remove(body, pointer)));
    }
}

impl Answer {
    pub(crate) fn code(&self) -> u16 {
        self.status.as_u16()
    }

    pub(crate) fn set_code(&mut self, code: u16) {
        self.status = StatusCode::from_u16(code).expect("a valid status code");
    }

    pub(crate) fn kind(&self) -> &str {
        self.body["kind"].as_str().unwrap_or_default()
    }

    /// Whether the response is a `Status` about a failure.
    pub(crate) fn is_failure(&self) -> bool {
        self.kind() == "Status" && self.body["status"] == "Failure"
    }

    /// The object, or the items of a list.
    pub(crate) fn for_each_object(&mut self, change: impl Fn(&mut Value)) {
        if let Some(items) = self.body.get_mut("items").and_then(Value::as_array_mut) {
            items.iter_mut().for_each(change);
        } else if self.body.is_object() {
            change(&mut self.body);
        }
    }
}

/// Removes the value at a JSON pointer, if there is one.
pub(crate) fn remove(value: &mut Value, pointer: &str) {
    let (parent, name) = pointer.rsplit_once('/').expect("a JSON pointer begins with a slash");
    if let Some(parent) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
        parent.remove(name);
    }
}

/// Removes a key from every object inside a value.
pub(crate) fn remove_everywhere(value: &mut Value, key: &str) {
    match value {
        Value::Object(fields) => {
            fields.remove(key);
            fields.values_mut().for_each(|value| remove_everywhere(value, key));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove_everywhere(item, key)),
        _ => {}
    }
}
