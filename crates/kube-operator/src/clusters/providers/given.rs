//! Clusters that the program names: a fixed list, and a channel.

use crate::clusters::event::{ClusterEvent, ClusterSpec, Clusters};
use futures::stream;
use tokio::sync::mpsc;

/// How many events wait in a channel until the fleet takes them.
const CHANNEL: usize = 64;

impl Clusters {
    /// These clusters, for as long as the program runs.
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
        let events: Vec<_> = clusters.into_iter().map(|spec| Ok(spec.into())).collect();
        Self::of("the fixed list", stream::iter(events))
    }

    /// Clusters that the program adds and removes while it runs. When the sender is dropped, the clusters stay.
    /// [`ClusterEvent::InitDone`] says that those are sent that there are at the start.
    pub fn channel() -> (mpsc::Sender<ClusterEvent>, Self) {
        let (sender, mut receiver) = mpsc::channel(CHANNEL);
        let events = stream::poll_fn(move |cx| receiver.poll_recv(cx).map(|event| event.map(Ok)));
        (sender, Self::of("the channel of the program", events))
    }
}
