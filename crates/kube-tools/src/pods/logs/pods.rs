//! The pods of a selector: a list, and a watch that is resumed.

use std::sync::Arc;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube_client::Api;
use kube_client::error::Error;
use kube_core::params::{ListParams, WatchParams};
use kube_core::watch::WatchEvent;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep};

use super::containers::{ContainerState, containers_of};
use super::outage::{Outage, is_stable};
use super::params::LogLinesParams;
use crate::pods::container::container_names;
use crate::pods::summary::{PodSummary, summaries};

/// A pod, as far as its logs depend on it.
#[derive(Debug)]
pub(super) struct PodView {
    pub(super) uid: Arc<str>,
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
    /// The selected ones that have a status.
    pub(super) containers: Vec<(String, ContainerState)>,
    /// All, by name, if one of them was asked for by its name.
    pub(super) names: Vec<String>,
}

/// What happened to the pods.
#[derive(Debug)]
pub(super) enum PodChange {
    /// These are all.
    Listed(Vec<PodView>),
    /// A pod is new or has changed.
    Is(PodView),
    /// A pod is deleted.
    Gone(Arc<str>),
    /// A pod is not selected any more. It may be selected again.
    Unselected(Arc<str>),
    /// They have been unknown for a minute, or for good if the sender ends.
    Failed(Error),
}

/// The list of pods, and their changes until the receiver is dropped, or the server refuses the first list. What it refuses later may be an
/// authorizer or a token that is late, and ends nothing that is running.
pub(super) async fn watch(pods: Api<Pod>, params: LogLinesParams, changes: Sender<PodChange>) {
    let pods = summaries(&pods);
    let mut outage = Outage::default();
    let (mut version, mut has_listed) = (None, false);
    while !changes.is_closed() {
        let began = Instant::now();
        let progress = match version.take() {
            None => match list(&pods, &params).await {
                Ok((views, listed)) => {
                    (version, has_listed) = (Some(listed), true);
                    outage.over();
                    let _ = changes.send(PodChange::Listed(views)).await;
                    if !params.follow {
                        return;
                    }
                    continue;
                }
                Err(err) => Err(err),
            },
            Some(mut from) => {
                let before = from.clone();
                let mut answered = false;
                let ended = follow(&pods, &params, &mut from, &changes, &mut answered).await;
                let progress = from != before;
                version = Some(from);
                if progress || answered && is_stable(began, Instant::now()) {
                    outage.over();
                }
                ended.map(|()| progress)
            }
        };
        let now = Instant::now();
        match progress {
            // A server that ends each watch at once is not asked again at once.
            Ok(progress) => outage.ended(began, now, progress),
            Err(Error::Api(status)) if status.code == 410 => version = None,
            Err(err) => {
                tracing::warn!(error = %err, "cannot watch the pods whose logs are read");
                let refused = is_refusal(&err) && !has_listed;
                if outage.failed(now) || refused {
                    let _ = changes.send(PodChange::Failed(err)).await;
                }
                if refused {
                    return;
                }
            }
        }
        tokio::select! {
            () = sleep(outage.pause()) => {}
            () = changes.closed() => return,
        }
    }
}

/// Whether a request will not succeed however often it is sent.
pub(super) fn is_refusal(err: &Error) -> bool {
    match err {
        // 400 and 404 depend on the state of the pod, 408 and 429 on the load.
        Error::Api(status) => matches!(status.code, 401..=403 | 405..=407 | 411..=428),
        Error::BuildRequest(_) | Error::Auth(_) => true,
        _ => false,
    }
}

async fn list(pods: &Api<PodSummary>, params: &LogLinesParams) -> Result<(Vec<PodView>, String), Error> {
    let mut page = ListParams {
        label_selector: params.label_selector.clone(),
        field_selector: params.field_selector.clone(),
        ..ListParams::default()
    }
    .limit(500);
    let mut views = Vec::new();
    loop {
        let listed = pods.list(&page).await?;
        views.extend(listed.items.iter().filter_map(|pod| view(pod, params)));
        match listed.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok((views, listed.metadata.resource_version.unwrap_or_default())),
        }
    }
}

/// One watch, from this version on, which it advances. Says whether the server has answered.
async fn follow(
    pods: &Api<PodSummary>,
    params: &LogLinesParams,
    version: &mut String,
    changes: &Sender<PodChange>,
    answered: &mut bool,
) -> Result<(), Error> {
    let selected = WatchParams {
        label_selector: params.label_selector.clone(),
        field_selector: params.field_selector.clone(),
        ..WatchParams::default()
    };
    let mut events = std::pin::pin!(pods.watch(&selected, version).await?);
    *answered = true;
    while let Some(event) = events.try_next().await? {
        let change = match event {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                advance(version, &pod);
                view(&pod, params).map(PodChange::Is)
            }
            WatchEvent::Deleted(pod) => {
                advance(version, &pod);
                let is_deleted = pod.metadata.deletion_timestamp.is_some();
                let change = if is_deleted { PodChange::Gone } else { PodChange::Unselected };
                pod.metadata.uid.map(|uid| change(uid.into()))
            }
            WatchEvent::Bookmark(bookmark) => {
                *version = bookmark.metadata.resource_version;
                None
            }
            WatchEvent::Error(status) => return Err(Error::Api(status)),
        };
        if let Some(change) = change
            && changes.send(change).await.is_err()
        {
            return Ok(());
        }
    }
    Ok(())
}

fn advance(version: &mut String, pod: &PodSummary) {
    if let Some(newer) = &pod.metadata.resource_version {
        version.clone_from(newer);
    }
}

/// `None` for an object without identity, which no server sends.
fn view(pod: &PodSummary, params: &LogLinesParams) -> Option<PodView> {
    Some(PodView {
        uid: pod.metadata.uid.as_deref()?.into(),
        namespace: pod.metadata.namespace.as_deref()?.into(),
        name: pod.metadata.name.as_deref()?.into(),
        containers: containers_of(pod, &params.containers()),
        names: match &params.container {
            Some(_) => container_names(pod).map(str::to_owned).collect(),
            None => Vec::new(),
        },
    })
}
