//! Selects a container of a pod.

use serde_json::Value;

use super::Container;
use crate::{object::meta, status_error::StatusError};

/// The requested container, or the only one.
pub(crate) fn container_of(
    namespace: &str,
    pod: &Value,
    requested: Option<&str>,
) -> Result<Container, StatusError> {
    let name = meta::name(pod);
    let of = |kind: &str| -> Vec<&str> {
        let list = pod["spec"][kind].as_array().into_iter().flatten();
        list.filter_map(|container| container["name"].as_str()).collect()
    };
    let main = of("containers");
    let all = [of("initContainers"), main.clone(), of("ephemeralContainers")].concat();
    let chosen = match (requested, main.as_slice()) {
        (Some(requested), _) if all.contains(&requested) => requested,
        (Some(requested), _) => {
            return Err(StatusError::bad_request(format!(
                "container {requested} is not valid for pod {name}"
            )));
        }
        (None, [only]) => only,
        (None, _) => {
            let names = all.join(" ");
            return Err(StatusError::bad_request(format!(
                "a container name must be specified for pod {name}, choose one of: [{names}]"
            )));
        }
    };
    Ok(Container { namespace: namespace.into(), pod: name.into(), name: chosen.into() })
}

/// Whether a container runs, according to the pod's status. Without container statuses, as in pods that a test started by hand, the phase
/// decides.
pub(crate) fn is_running(pod: &Value, container: &str) -> bool {
    match status_of(pod, container) {
        Some(status) => status["state"]["running"].is_object(),
        None => pod["status"]["containerStatuses"].is_null() && pod["status"]["phase"] == "Running",
    }
}

/// The status of a container.
pub(crate) fn status_of<'a>(pod: &'a Value, container: &str) -> Option<&'a Value> {
    let kinds = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];
    let mut statuses = kinds.into_iter().flat_map(|kind| pod["status"][kind].as_array()).flatten();
    statuses.find(|status| status["name"] == container)
}
