//! Which container of a pod is meant, as kubectl decides it. No I/O.

use super::summary::PodSummary;

/// The annotation by which a pod names the container that is meant where none is given.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// The names of all containers of a pod: first the main ones, then init containers, then ephemeral ones.
pub(super) fn container_names(pod: &PodSummary) -> impl Iterator<Item = &str> {
    let lists = pod.spec.iter().flat_map(|spec| {
        [&spec.containers, &spec.init_containers, &spec.ephemeral_containers].into_iter().flatten()
    });
    lists.flatten().map(|container| container.name.as_str())
}

/// The container that the pod itself names, if it has it.
pub(super) fn annotated_container(pod: &PodSummary) -> Option<&str> {
    let named = pod.metadata.annotations.as_ref()?.get(DEFAULT_CONTAINER)?;
    container_names(pod).find(|name| name == named)
}

/// The container that is meant where none is given: the one that the pod names, else the first.
#[cfg(feature = "ws")]
pub(super) fn default_container(pod: &PodSummary) -> Option<&str> {
    annotated_container(pod).or_else(|| container_names(pod).next())
}

#[cfg(all(test, feature = "ws"))]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_container_is_that_of_the_annotation_or_the_first() {
        for (annotated, expected) in
            [(None, "a"), (Some("b"), "b"), (Some("setup"), "setup"), (Some("none"), "a"), (Some(""), "a")]
        {
            let mut pod: PodSummary = serde_json::from_value(json!({"spec": {
                "containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "setup"}]}}))
            .unwrap();
            let annotation = annotated.map(|name: &str| (DEFAULT_CONTAINER.to_owned(), name.to_owned()));
            pod.metadata.annotations = Some(annotation.into_iter().collect());
            assert_eq!(default_container(&pod), Some(expected), "{annotated:?}");
        }
        assert_eq!(default_container(&PodSummary::default()), None);
    }
}
