//! The contexts of a kubeconfig as clusters.

use super::first::First;
use crate::clusters::{
    error::ClusterError,
    event::{ClusterEvent, ClusterSpec, Clusters},
    name::ClusterName,
    unusable::{Problem, Unusable},
};
use futures::stream;
use kube_client::{
    Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError, LoadDataError},
    error::ErrorChain,
};
use std::{collections::VecDeque, time::Duration};
use tokio::time::{Instant, sleep};

/// How often contexts that cannot be used are tried again.
const INTERVAL: Duration = Duration::from_secs(10);

impl Clusters {
    /// A cluster for each context of a kubeconfig, which is trusted: it may run programs and read files. `place` says in errors where it
    /// comes from.
    ///
    /// A context whose name is no label value, as those that cloud tools write often are, or that cannot be used, is an error once; the
    /// others are used. One that names a file which cannot be used is tried again every 10 s, because that may come later.
    pub fn contexts(place: impl Into<String>, kubeconfig: Kubeconfig) -> Self {
        let place = place.into();
        let source = format!("the contexts of {place}");
        let unusable = Unusable::default();
        let contexts = Contexts::new(place, kubeconfig, unusable.clone());
        let state = (contexts, First::default(), VecDeque::new(), false);
        let events =
            stream::unfold(state, |(mut contexts, mut first, mut pending, mut is_again)| async move {
                loop {
                    if let Some(event) = pending.pop_front() {
                        return Some((event, (contexts, first, pending, is_again)));
                    }
                    if std::mem::replace(&mut is_again, true) {
                        if contexts.left.is_empty() {
                            return None;
                        }
                        sleep(INTERVAL).await;
                    }
                    pending.extend(contexts.read().await);
                    pending.extend(first.read(&contexts.unusable(), Instant::now()));
                }
            });
        Self::of(source, events).telling(unusable)
    }
}

struct Contexts {
    place: String,
    kubeconfig: Kubeconfig,
    /// Those that were not announced yet.
    left: Vec<Context>,
    unusable: Unusable,
}

struct Context {
    name: String,
    /// Why it could not be used.
    problem: Option<String>,
}

impl Contexts {
    fn new(place: String, kubeconfig: Kubeconfig, unusable: Unusable) -> Self {
        let names = kubeconfig.contexts.iter().map(|context| context.name.clone());
        let left = names.map(|name| Context { name, problem: None }).collect();
        Self { place, kubeconfig, left, unusable }
    }

    /// Those that can be used now, and errors that were not there before.
    async fn read(&mut self) -> Vec<Result<ClusterEvent, ClusterError>> {
        let mut events = Vec::new();
        for mut context in std::mem::take(&mut self.left) {
            let name = match self.name_of(&context) {
                Ok(name) => name,
                Err(error) => {
                    events.push(Err(error));
                    continue;
                }
            };
            let options = KubeConfigOptions { context: Some(context.name.clone()), ..Default::default() };
            match Config::from_custom_kubeconfig(self.kubeconfig.clone(), &options).await {
                Ok(config) => {
                    self.unusable.remove(&context.name);
                    events.push(Ok(ClusterSpec::new(name, config).into()));
                }
                Err(source) if !self.may_change(&context.name, &source) => {
                    self.unusable
                        .add(&context.name, Problem::without_labels(Some(name), ErrorChain(&source)));
                    let (context, place) = (context.name, self.place.clone());
                    events.push(Err(ClusterError::Context { context, place, source }));
                }
                Err(source) => {
                    let problem = ErrorChain(&source).to_string();
                    self.unusable.add(&context.name, Problem::without_labels(Some(name), &problem));
                    if context.problem.as_ref() != Some(&problem) {
                        let (context, place) = (context.name.clone(), self.place.clone());
                        events.push(Err(ClusterError::Context { context, place, source }));
                    }
                    context.problem = Some(problem);
                    self.left.push(context);
                }
            }
        }
        events
    }

    /// The clusters that were not announced yet.
    fn unusable(&self) -> Vec<ClusterName> {
        self.left.iter().filter_map(|context| ClusterName::new(&context.name).ok()).collect()
    }

    /// Whether a kubeconfig that stays as it is may be usable later: where what it names is in files.
    fn may_change(&self, context: &str, error: &KubeconfigError) -> bool {
        match error {
            KubeconfigError::LoadCertificateAuthority(error)
            | KubeconfigError::LoadClientCertificate(error)
            | KubeconfigError::LoadClientKey(error) => matches!(error, LoadDataError::ReadFile(..)),
            KubeconfigError::ParseCertificates(_) => self.has_certificates_in_a_file(context),
            KubeconfigError::ReadConfig(..) => true,
            _ => false,
        }
    }

    fn has_certificates_in_a_file(&self, context: &str) -> bool {
        let Kubeconfig { contexts, clusters, .. } = &self.kubeconfig;
        let named = contexts.iter().find(|named| named.name == context);
        let cluster = named.and_then(|named| named.context.as_ref()).map(|context| &context.cluster);
        let cluster = clusters.iter().find(|named| Some(&named.name) == cluster);
        let cluster = cluster.and_then(|named| named.cluster.as_ref());
        cluster.is_some_and(|cluster| cluster.certificate_authority_data.as_deref().is_none_or(str::is_empty))
    }

    fn name_of(&self, context: &Context) -> Result<ClusterName, ClusterError> {
        let Context { name, .. } = context;
        ClusterName::new(name).map_err(|source| {
            let place = format!("context {name:?} of {}", self.place);
            ClusterError::Name { place, source }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use std::fs;

    fn text(event: Result<ClusterEvent, ClusterError>) -> String {
        match event {
            Ok(ClusterEvent::Upsert(spec)) => format!("{} {}", spec.name, spec.config.default_namespace),
            Ok(other) => format!("{other:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn contexts_that_cannot_be_used_are_errors_and_the_others_clusters() {
        let kubeconfig = "clusters: [{name: c, cluster: {server: 'https://c:6443'}},\n\
             {name: d, cluster: {server: 'https://d:6443', certificate-authority: /nowhere/ca.crt}}]\n\
             users: [{name: u, user: {token: t}}]\n\
             contexts: [{name: east, context: {cluster: c, user: u}}, {name: 'a@b', context: {cluster: c, user: u}},\n\
             {name: west, context: {cluster: nowhere, user: u}}, {name: north, context: {cluster: c, user: u, namespace: n}},\n\
             {name: south, context: {cluster: d, user: u}}]\n";
        let mut kubeconfig = Kubeconfig::from_yaml(kubeconfig).unwrap();
        let clusters = Clusters::contexts("~/.kube/config", kubeconfig.clone());
        assert_eq!(clusters.source(), "the contexts of ~/.kube/config");
        let texts: Vec<_> = clusters.events.take(7).map(text).collect().await;
        let usable = (texts[0].as_str(), texts[3].as_str(), texts[6].as_str());
        assert_eq!(usable, ("east default", "north n", "InitDone"));
        for (at, part) in [(1, r#""a@b" cannot be the name"#), (2, "nowhere"), (4, "/nowhere/ca.crt")] {
            assert!(texts[at].starts_with("context ") && texts[at].contains(part), "{}", texts[at]);
        }
        let late = &texts[5];
        assert!(late.starts_with("after 5 minutes") && late.ends_with(": south"), "{late}");

        // What cannot change is not waited for.
        kubeconfig.contexts.truncate(4);
        let began = Instant::now();
        let all: Vec<_> = Clusters::contexts("here", kubeconfig).events.map(text).collect().await;
        assert_eq!((all.len(), all[4].as_str(), began.elapsed()), (5, "InitDone", Duration::ZERO), "{all:?}");
    }

    /// The data count where a cluster has both.
    #[tokio::test(start_paused = true)]
    async fn certificates_in_the_kubeconfig_itself_that_cannot_be_used_are_not_waited_for() {
        for file in ["", "certificate-authority: /nowhere/ca.crt,"] {
            let kubeconfig = format!(
                "clusters: [{{name: c, cluster: {{server: 'https://c', {file} certificate-authority-data: Z2FyYmFnZQ==}}}}]\n\
                 users: [{{name: u, user: {{token: t}}}}]\ncontexts: [{{name: east, context: {{cluster: c, user: u}}}}]\n"
            );
            let kubeconfig = Kubeconfig::from_yaml(&kubeconfig).unwrap();
            let began = Instant::now();
            let all: Vec<_> = Clusters::contexts("here", kubeconfig).events.map(text).collect().await;
            assert_eq!(
                (all.len(), all[1].as_str(), began.elapsed()),
                (2, "InitDone", Duration::ZERO),
                "{all:?}"
            );
        }
    }

    /// The volume of a certificate may be filled after the program has started.
    #[tokio::test]
    async fn a_context_whose_file_comes_later_is_used_then() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.crt");
        let kubeconfig = format!(
            "clusters: [{{name: c, cluster: {{server: 'https://c:6443', certificate-authority: '{}'}}}}]\n\
             users: [{{name: u, user: {{token: t}}}}]\ncontexts: [{{name: east, context: {{cluster: c, user: u}}}}]\n",
            file.display()
        );
        let kubeconfig = Kubeconfig::from_yaml(&kubeconfig).unwrap();
        let mut contexts = Contexts::new("the test".to_owned(), kubeconfig, Unusable::default());
        let texts = async |contexts: &mut Contexts| -> Vec<String> {
            contexts.read().await.into_iter().map(text).collect()
        };
        let missing = texts(&mut contexts).await;
        assert!(missing.len() == 1 && missing[0].contains("ca.crt"), "{missing:?}");
        assert_eq!(texts(&mut contexts).await, [""; 0], "an error is said once");
        fs::write(&file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        assert_eq!(texts(&mut contexts).await, ["east default"]);
        assert_eq!((texts(&mut contexts).await, contexts.left.len()), (vec![], 0));
    }
}
