//! Whether kinds are served.

use super::{names, recorded::Recorded};
use metrics::gauge;

/// Sets the gauge of this kind. For changes, which are rare.
pub(crate) fn kind_served(kind: &str, is_served: bool) {
    let gauge = Recorded::new(kind, || {
        names::describe();
        gauge!(names::KIND_SERVED, "kind" => kind.to_owned())
    });
    gauge.record(|gauge| gauge.set(if is_served { 1.0 } else { 0.0 }));
}
