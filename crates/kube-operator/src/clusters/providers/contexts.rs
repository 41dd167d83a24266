//! The contexts of a kubeconfig as clusters.

use crate::clusters::{
    error::ClusterError,
    event::{ClusterEvent, ClusterSpec, Clusters},
    name::ClusterName,
};
use futures::{StreamExt, stream};
use kube_client::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};

impl Clusters {
    /// A cluster for each context of a kubeconfig, which is trusted: it may run programs and read files. `place` says in errors where it
    /// comes from.
    ///
    /// A context whose name is no label value, as those that cloud tools write often are, is an error; the others are used.
    /// So is one that names a file that is not there; the contexts are read once.
    pub fn contexts(place: impl Into<String>, kubeconfig: Kubeconfig) -> Self {
        let place = place.into();
        let names: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
        let source = format!("the contexts of {place}");
        let events = stream::iter(names).then(move |context| {
            let (kubeconfig, place) = (kubeconfig.clone(), place.clone());
            async move { cluster_of(context, kubeconfig, place).await.map(ClusterEvent::from) }
        });
        Self::of(source, events)
    }
}

async fn cluster_of(
    context: String,
    kubeconfig: Kubeconfig,
    place: String,
) -> Result<ClusterSpec, ClusterError> {
    let name = ClusterName::new(&context)
        .map_err(|source| ClusterError::Name { place: format!("context {context:?} of {place}"), source })?;
    let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
    match Config::from_custom_kubeconfig(kubeconfig, &options).await {
        Ok(config) => Ok(ClusterSpec::new(name, config)),
        Err(source) => Err(ClusterError::Context { context, place, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn contexts_that_cannot_be_used_are_errors_and_the_others_clusters() {
        let text = "clusters: [{name: c, cluster: {server: 'https://c:6443'}}]\nusers: [{name: u, user: {token: t}}]\n\
             contexts: [{name: east, context: {cluster: c, user: u}}, {name: 'a@b', context: {cluster: c, user: u}},\n\
             {name: west, context: {cluster: nowhere, user: u}}, {name: north, context: {cluster: c, user: u, namespace: n}}]\n";
        let clusters = Clusters::contexts("~/.kube/config", Kubeconfig::from_yaml(text).unwrap());
        assert_eq!(clusters.source(), "the contexts of ~/.kube/config");
        let events: Vec<_> = clusters.events.collect().await;
        let texts = events.into_iter().map(|event| match event {
            Ok(ClusterEvent::Upsert(spec)) => format!("{} {}", spec.name, spec.config.default_namespace),
            Ok(other) => format!("{other:?}"),
            Err(error) => error.to_string(),
        });
        let texts = texts.collect::<Vec<_>>();
        assert_eq!((texts[0].as_str(), texts[3].as_str()), ("east default", "north n"));
        assert!(
            texts[1].starts_with(r#"context "a@b" of ~/.kube/config: "a@b" cannot be the name"#),
            "{}",
            texts[1]
        );
        assert!(texts[2].starts_with(r#"context "west" of ~/.kube/config: "#), "{}", texts[2]);
        assert!(texts[2].contains("nowhere"), "{}", texts[2]);
    }
}
