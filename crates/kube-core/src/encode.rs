//! Percent-encoding for paths and query strings.

/// Appends `segment` to `out` as one path segment.
pub(crate) fn path_segment(segment: &str, out: &mut String) {
    // Besides the unreserved characters, a segment may hold these as they are (RFC 3986, 3.3).
    percent(segment, b":@!$&'()*+,;=", out);
}

/// A query string under construction: `name=value` pairs in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Query(String);

impl Query {
    /// Adds one pair, both sides percent-encoded.
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        percent(name, b"", &mut self.0);
        self.0.push('=');
        percent(value, b"", &mut self.0);
    }

    /// Adds a pair where there is a value and it is not empty.
    pub(crate) fn push_some(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            self.push(name, value);
        }
    }

    /// Adds a number where there is one.
    pub(crate) fn push_number(&mut self, name: &str, value: Option<impl Into<i64>>) {
        if let Some(value) = value {
            self.push(name, &value.into().to_string());
        }
    }

    /// Adds `name=true` where the flag is set.
    pub(crate) fn push_flag(&mut self, name: &str, set: bool) {
        if set {
            self.push(name, "true");
        }
    }

    /// Appends `?` and the pairs to a path; nothing where there are none.
    pub(crate) fn append_to(&self, path: &mut String) {
        if !self.0.is_empty() {
            path.push('?');
            path.push_str(&self.0);
        }
    }
}

fn percent(text: &str, also_plain: &[u8], out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || also_plain.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Query, path_segment};

    #[test]
    fn segments_keep_what_rbac_names_hold_and_encode_the_rest() {
        let mut out = String::new();
        path_segment("system:node a/ü?#%", &mut out);
        assert_eq!(out, "system:node%20a%2F%C3%BC%3F%23%25");
    }

    #[test]
    fn queries_encode_both_sides_and_skip_what_is_absent() {
        let mut q = Query::default();
        q.push_some("labelSelector", Some("a in (b,c)"));
        q.push_some("fieldSelector", Some(""));
        q.push_number("limit", Some(5_u32));
        q.push_flag("watch", true);
        q.push_flag("other", false);
        let mut path = String::from("/p");
        q.append_to(&mut path);
        assert_eq!(path, "/p?labelSelector=a%20in%20%28b%2Cc%29&limit=5&watch=true");
        let mut bare = String::from("/p");
        Query::default().append_to(&mut bare);
        assert_eq!(bare, "/p");
    }
}
