//! When a provider has announced what there was at its start.

use crate::clusters::{error::ClusterError, event::ClusterEvent, name::ClusterName};
use std::time::Duration;
use tokio::time::Instant;

/// How long what is there and cannot be used is waited for. It may be a matter of seconds, as for a volume or a Secret that is filled
/// after the program has started; one that nobody mends must not keep the program from its work for ever.
const LIMIT: Duration = Duration::from_secs(300);

/// Holds [`ClusterEvent::InitDone`] back while something that is there could not be used yet: it is not known to be gone. No I/O.
#[derive(Debug, Default)]
pub(super) struct First {
    /// Once all was read: until when it waits.
    until: Option<Instant>,
    is_done: bool,
}

impl First {
    /// All that there is was read. `unusable`: the names of what was not announced and may be later.
    pub(super) fn read<'a>(
        &mut self,
        unusable: impl IntoIterator<Item = &'a ClusterName>,
        now: Instant,
    ) -> Vec<Result<ClusterEvent, ClusterError>> {
        if self.is_done {
            return Vec::new();
        }
        let until = *self.until.get_or_insert(now + LIMIT);
        let unusable: Vec<String> = unusable.into_iter().map(ToString::to_string).collect();
        if !unusable.is_empty() && now < until {
            return Vec::new();
        }
        self.is_done = true;
        let late = (!unusable.is_empty()).then(|| {
            let (clusters, minutes) = (unusable.join(", "), LIMIT.as_secs() / 60);
            let text = format!(
                "after {minutes} minutes, clusters that cannot be used count as not there: {clusters}"
            );
            Err(ClusterError::Provider(text.into()))
        });
        late.into_iter().chain([Ok(ClusterEvent::InitDone)]).collect()
    }

    /// When to look again, whatever happens.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until.filter(|_| !self.is_done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_used_yet_is_waited_for_and_not_for_ever() {
        let (now, east) = (Instant::now(), ClusterName::new("east").unwrap());
        let mut first = First::default();
        assert_eq!(first.until(), None, "nothing was read");
        assert!(first.read([&east], now).is_empty());
        assert_eq!(first.until(), Some(now + LIMIT));
        assert!(matches!(first.read([], now)[..], [Ok(ClusterEvent::InitDone)]));
        assert!(first.read([], now).is_empty() && first.until().is_none(), "once");
        let mut late = First::default();
        late.read([&east], now);
        assert!(late.read([&east], now + LIMIT - Duration::from_secs(1)).is_empty());
        let events = late.read([&east], now + LIMIT);
        let [Err(error), Ok(ClusterEvent::InitDone)] = &events[..] else { panic!("{events:?}") };
        assert_eq!(
            error.to_string(),
            "after 5 minutes, clusters that cannot be used count as not there: east"
        );
    }
}
