//! URLs as they may be shown.

use std::fmt;

use http::Uri;

use crate::config::{write_origin, write_query};

/// A request's whole URL without user, password and commands.
pub(super) struct Shown<'a> {
    /// What stands before the path if the request has only that.
    pub(super) server: Option<&'a Uri>,
    pub(super) request: &'a Uri,
}

impl Shown<'_> {
    /// Whose scheme and host count.
    pub(super) fn server(&self) -> &Uri {
        match self.server {
            Some(server) if self.request.authority().is_none() => server,
            _ => self.request,
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.server();
        write_origin(server, f)?;
        if !std::ptr::eq(server, self.request) {
            f.write_str(server.path().trim_end_matches('/'))?;
        }
        f.write_str(self.request.path())?;
        write_query(self.request, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(server: Option<&'static str>, request: &'static str) -> String {
        let server = server.map(Uri::from_static);
        Shown { server: server.as_ref(), request: &Uri::from_static(request) }.to_string()
    }

    #[test]
    fn the_server_is_added_and_secrets_are_not() {
        assert_eq!(
            shown(Some("https://me:hush@h:6443/k8s/"), "/api/v1/pods?a=1&b"),
            "https://h:6443/k8s/api/v1/pods?a=1&b"
        );
        assert_eq!(shown(Some("https://other"), "http://me:hush@h/api"), "http://h/api");
        assert_eq!(
            shown(None, "/exec?command=login&stdin=true&command=hush"),
            "/exec?command=REDACTED&stdin=true&command=REDACTED"
        );
        assert_eq!(shown(Some("https://[::1]:1"), "/"), "https://[::1]:1/");
    }
}
