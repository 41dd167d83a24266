//! Percent-encoding for paths and query strings.

use form_urlencoded::byte_serialize;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters to encode in a path segment: all but those that RFC 3986, section 3.3, allows unencoded.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// Appends `segment` to `out` as one path segment.
pub(crate) fn path_segment(segment: &str, out: &mut String) {
    out.extend(utf8_percent_encode(segment, SEGMENT));
}

/// A query string under construction: form-urlencoded `name=value` pairs in insertion order.
///
/// Byte-identical to the URLs of kube 5.0, because programs compare them with recorded ones: `?` even if no pair follows,
/// and `&` before every pair, including the first. Servers skip the empty pair.
#[derive(Debug)]
pub(crate) struct Query(String);

impl Default for Query {
    fn default() -> Self {
        Self("?".into())
    }
}

impl Query {
    /// Adds one pair; `name` needs no encoding.
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        self.0.extend(["&", name, "="]);
        self.0.extend(byte_serialize(value.as_bytes()));
    }

    /// Adds a pair if there is a value. An empty value is sent too; servers treat it as absent.
    pub(crate) fn push_some(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }

    /// Adds a number if there is one.
    pub(crate) fn push_number(&mut self, name: &str, value: Option<impl Into<i64>>) {
        if let Some(value) = value {
            self.push(name, &value.into().to_string());
        }
    }

    /// Adds `name=true` if the flag is set.
    pub(crate) fn push_flag(&mut self, name: &str, set: bool) {
        if set {
            self.push(name, "true");
        }
    }

    /// The query as in a URL, including the `?`.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Query, path_segment};

    #[test]
    fn segments_keep_characters_of_rbac_names_and_encode_the_rest() {
        let mut out = String::new();
        path_segment("system:node a/ü?#%", &mut out);
        assert_eq!(out, "system:node%20a%2F%C3%BC%3F%23%25");
        let mut plain = String::new();
        path_segment("aZ09-._~:@!$&'()*+,;=", &mut plain);
        assert_eq!(plain, "aZ09-._~:@!$&'()*+,;=");
    }

    #[test]
    fn queries_encode_values_and_skip_absent_ones() {
        let mut q = Query::default();
        assert_eq!(q.as_str(), "?");
        q.push_some("labelSelector", Some("a in (b,c)"));
        q.push_some("fieldSelector", None);
        q.push_some("continue", Some(""));
        q.push_number("limit", Some(5_u32));
        q.push_flag("watch", true);
        q.push_flag("other", false);
        q.push("command", "~*-._+&=ü");
        assert_eq!(
            q.as_str(),
            "?&labelSelector=a+in+%28b%2Cc%29&continue=&limit=5&watch=true&command=%7E*-._%2B%26%3D%C3%BC"
        );
    }
}
