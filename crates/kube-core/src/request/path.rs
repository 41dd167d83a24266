//! Paths of objects below the path of their collection.

use super::Error;
use crate::encode::path_segment;

/// The collection's path, checked.
pub(super) fn collection(url_path: &str) -> Result<String, Error> {
    if let Some(segment) = url_path.trim_start_matches('/').split('/').find(|s| !is_encoded_segment(s)) {
        return Err(Error::invalid(format!(
            "the path {url_path:?} holds the segment {segment:?}; a namespace must not be empty, `.`, `..`, or hold a \
             slash or a percent sign"
        )));
    }
    Ok(url_path.to_owned())
}

/// Appends an object's name (or another part called `what`) as one segment.
pub(super) fn push(path: &mut String, what: &str, segment: &str) -> Result<(), Error> {
    if !is_segment(segment) {
        return Err(Error::invalid(format!(
            "{what} {segment:?} must not be empty, `.`, `..`, or hold a slash or a percent sign"
        )));
    }
    path.push('/');
    path_segment(segment, path);
    Ok(())
}

/// What a server accepts as the name of anything: one segment that no proxy on the way takes for another path.
fn is_segment(segment: &str) -> bool {
    !matches!(segment, "" | "." | "..") && !segment.contains(['/', '%'])
}

/// The same for a segment that has been encoded.
fn is_encoded_segment(segment: &str) -> bool {
    !matches!(segment, "" | "." | "..") && !["%2F", "%2f", "%25"].iter().any(|code| segment.contains(code))
}
