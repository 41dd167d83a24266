//! Which container of a pod is meant, as kubectl decides it. No I/O.

use super::summary::PodSummary;

/// The annotation by which a pod names the container that is meant where none is given.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// The containers of a pod, and what kubectl adds to their names: first the main ones, then init containers, then ephemeral ones.
fn containers(pod: &PodSummary) -> impl Iterator<Item = (&str, &'static str)> {
    let lists = pod.spec.iter().flat_map(|spec| {
        [(&spec.containers, ""), (&spec.init_containers, " (init)"), (&spec.ephemeral_containers, " (ephem)")]
    });
    lists.flat_map(|(list, kind)| list.iter().flatten().map(move |container| (container.name.as_str(), kind)))
}

/// The names of all containers of a pod.
pub(super) fn container_names(pod: &PodSummary) -> impl Iterator<Item = &str> {
    containers(pod).map(|(name, _)| name)
}

/// The container that the pod itself names, whether it has it or not.
fn annotated(pod: &PodSummary) -> Option<&str> {
    let annotations = pod.metadata.annotations.as_ref()?;
    annotations.get(DEFAULT_CONTAINER).map(String::as_str).filter(|name| !name.is_empty())
}

/// The container whose log is meant where none is given, if the pod names one of its own.
pub(super) fn annotated_container(pod: &PodSummary) -> Option<&str> {
    annotated(pod).filter(|named| container_names(pod).any(|name| name == *named))
}

/// The container of a command where none is given: the one that the pod names, else the first.
#[cfg(feature = "ws")]
pub(super) fn default_container(pod: &PodSummary) -> Option<&str> {
    annotated(pod).or_else(|| container_names(pod).next())
}

/// All containers of a pod, in the words of kubectl's errors.
#[cfg(feature = "ws")]
pub(super) fn out_of(pod: &PodSummary) -> String {
    let names: Vec<String> = containers(pod).map(|(name, kind)| format!("{name}{kind}")).collect();
    format!("out of: {}", names.join(", "))
}

#[cfg(all(test, feature = "ws"))]
mod tests {
    use serde_json::json;

    use super::*;

    /// As kubectl 1.37 chooses: a command fails if the pod names a container that it does not have, a log is that of another one.
    #[test]
    fn the_container_is_that_of_the_annotation_or_the_first() {
        for (annotated, command, log) in [
            (None, "a", None),
            (Some("b"), "b", Some("b")),
            (Some("setup"), "setup", Some("setup")),
            (Some("absent"), "absent", None),
            (Some(""), "a", None),
        ] {
            let mut pod: PodSummary = serde_json::from_value(json!({"spec": {
                "containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "setup"}],
                "ephemeralContainers": [{"name": "debug"}]}}))
            .unwrap();
            let annotation = annotated.map(|name: &str| (DEFAULT_CONTAINER.to_owned(), name.to_owned()));
            pod.metadata.annotations = Some(annotation.into_iter().collect());
            assert_eq!(default_container(&pod), Some(command), "{annotated:?}");
            assert_eq!(annotated_container(&pod), log, "{annotated:?}");
            assert_eq!(out_of(&pod), "out of: a, b, setup (init), debug (ephem)");
        }
        assert_eq!(default_container(&PodSummary::default()), None);
    }
}
