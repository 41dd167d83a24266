//! Rules of replica counts in custom resources.

use serde_json::Value;

use crate::{schema::FieldError, scheme::ScalePaths};

/// Checks the counts that the `scale` subresource shows.
pub(crate) fn validate(object: &Value, paths: &ScalePaths) -> Vec<FieldError> {
    let wrong = [&paths.spec, &paths.status].into_iter().filter_map(|path| {
        let count = object.pointer(&path.replace('.', "/"))?.as_i64()?;
        let why = match count {
            ..0 => "should be a non-negative integer",
            0..=2_147_483_647 => return None,
            _ => "should be less than or equal to 2147483647",
        };
        Some(FieldError::invalid(path.as_str(), count, why))
    });
    wrong.collect()
}
