//! The protocols that a client offers in a header.

use http::{HeaderMap, HeaderName};

use crate::status_error::StatusError;

/// The first offered protocol that is spoken.
pub(super) fn choose<'a>(
    offered: impl Iterator<Item = &'a str>,
    spoken: &[&'static str],
) -> Result<&'static str, StatusError> {
    let offered: Vec<&str> = offered.collect();
    let chosen = offered.iter().find_map(|offer| spoken.iter().find(|name| *name == offer));
    chosen.copied().ok_or_else(|| {
        let (offered, spoken) = (offered.join(", "), spoken.join(", "));
        StatusError::bad_request(format!(
            "unable to upgrade: none of the offered protocols [{offered}] is among [{spoken}]"
        ))
    })
}

/// The elements of a comma-separated header, over all its lines.
pub(super) fn words<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|word| !word.is_empty())
}
