//! Clusters that the program names: a fixed list, and a channel.

use crate::clusters::{
    error::ClusterError,
    event::{ClusterEvent, ClusterSpec, Clusters},
    unusable::Unusable,
};
use futures::{StreamExt, stream};
use std::collections::BTreeSet;
use tokio::sync::mpsc;

/// How many events wait in a channel until the fleet takes them.
const CHANNEL: usize = 64;

impl Clusters {
    /// These clusters, for as long as the program runs. Of two with one name, the second is an error in the log.
    ///
    /// ```
    /// use kube_client::Config;
    /// use kube_operator::clusters::{ClusterName, ClusterSpec, Clusters};
    ///
    /// let config = Config::new("https://east:6443".parse()?);
    /// let clusters = Clusters::fixed([ClusterSpec::new(ClusterName::new("east")?, config).label("region", "eu")]);
    /// # drop(clusters);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fixed(clusters: impl IntoIterator<Item = ClusterSpec>) -> Self {
        let mut names = BTreeSet::new();
        let events = clusters.into_iter().map(|spec| match names.insert(spec.name.clone()) {
            true => Ok(spec.into()),
            false => Err(ClusterError::Claimed {
                name: spec.name,
                source_name: "the fixed list".to_owned(),
                holder: "an earlier entry".to_owned(),
            }),
        });
        let events: Vec<_> = events.collect();
        Self::of("the fixed list", stream::iter(events))
    }

    /// Clusters that the program adds and removes while it runs. When the sender is dropped, the clusters stay.
    /// [`ClusterEvent::InitDone`] says that those are sent that there are at the start; to drop the sender does not, as a task that panics
    /// drops it too: before that event, it is an error in the log, and the provider counts as one that cannot be read.
    pub fn channel() -> (mpsc::Sender<ClusterEvent>, Self) {
        let (sender, mut receiver) = mpsc::channel(CHANNEL);
        let unusable = Unusable::default();
        let (shown, mut is_complete) = (unusable.clone(), false);
        let mut next = move |event: Option<ClusterEvent>| {
            let was_complete = std::mem::replace(&mut is_complete, true);
            match event {
                Some(event) => {
                    is_complete = was_complete || matches!(event, ClusterEvent::InitDone);
                    Some(Ok(event))
                }
                None if was_complete => None,
                None => {
                    shown.set_unreadable(true);
                    Some(Err(ClusterError::SenderDropped))
                }
            }
        };
        let events = stream::poll_fn(move |cx| receiver.poll_recv(cx).map(&mut next));
        (sender, Self::of("the channel of the program", events.chain(stream::pending())).telling(unusable))
    }
}
