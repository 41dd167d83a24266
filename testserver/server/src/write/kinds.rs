//! Chooses how the objects of an endpoint are written.

use super::{built_in::BuiltIn, custom::Custom, kind::Kind};
use crate::scheme::Endpoint;

/// The kind of the objects of an endpoint.
pub(crate) fn kind_of(endpoint: &Endpoint) -> &'static dyn Kind {
    if endpoint.resource.custom { &Custom } else { &BuiltIn }
}

#[cfg(test)]
mod tests {
    use crate::scheme::Scheme;

    #[test]
    fn every_built_in_kind_has_a_go_type() {
        let scheme = Scheme::with_built_in();
        for resource in scheme.resources() {
            for endpoint in resource.all_versions() {
                assert!(endpoint.go_type().is_some(), "{} {}", endpoint.api_version(), endpoint.kind());
            }
        }
    }
}
