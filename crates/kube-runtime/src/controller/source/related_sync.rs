//! When all watches of one kind of related objects have completed their lists.

/// Tracks which watches of one kind of related objects are listing. No I/O.
///
/// After a list of related objects, all objects are reconciled again. Watches that list at the same time, as at the start,
/// complete together, so that this happens once.
#[derive(Debug)]
pub(super) struct RelatedSync {
    listing: Vec<bool>,
    /// The number of watches that are listing.
    listing_count: usize,
    /// Whether a list has completed since the last [`SyncCompleted`].
    any_listed: bool,
    completed_before: bool,
}

/// All lists have completed or failed, so all objects have to be reconciled again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SyncCompleted {
    /// Whether this is the first time.
    pub(super) first: bool,
}

impl RelatedSync {
    pub(super) fn new(watches: usize) -> Self {
        Self {
            listing: vec![true; watches],
            listing_count: watches,
            any_listed: false,
            completed_before: false,
        }
    }

    pub(super) fn start_list(&mut self, watch: usize) {
        self.set(watch, true);
    }

    pub(super) fn finish_list(&mut self, watch: usize) -> Option<SyncCompleted> {
        self.set(watch, false);
        self.any_listed = true;
        self.completed()
    }

    /// Notes that a watch failed. The others do not wait for its list.
    pub(super) fn failed(&mut self, watch: usize) -> Option<SyncCompleted> {
        self.set(watch, false);
        self.completed()
    }

    /// Notes that there is no watch now. At the start, that is as good as a list: nobody knows when one comes.
    pub(super) fn closed(&mut self, watch: usize) -> Option<SyncCompleted> {
        self.set(watch, false);
        self.any_listed |= !self.completed_before;
        self.completed()
    }

    fn set(&mut self, watch: usize, listing: bool) {
        let before = std::mem::replace(&mut self.listing[watch], listing);
        self.listing_count = self.listing_count + usize::from(listing) - usize::from(before);
    }

    fn completed(&mut self) -> Option<SyncCompleted> {
        if !self.any_listed || self.listing_count > 0 {
            return None;
        }
        self.any_listed = false;
        Some(SyncCompleted { first: !std::mem::replace(&mut self.completed_before, true) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Option<SyncCompleted> = Some(SyncCompleted { first: true });
    const LATER: Option<SyncCompleted> = Some(SyncCompleted { first: false });

    #[test]
    fn completes_once_when_all_watches_have_listed() {
        let mut sync = RelatedSync::new(3);
        assert_eq!([sync.finish_list(0), sync.finish_list(2), sync.finish_list(1)], [None, None, FIRST]);
        sync.start_list(1);
        assert_eq!(sync.finish_list(1), LATER, "again after each later list");
        (0..3).for_each(|watch| sync.start_list(watch));
        assert_eq!([sync.finish_list(0), sync.finish_list(1), sync.finish_list(2)], [None, None, LATER]);
    }

    #[test]
    fn a_failed_watch_is_not_waited_for_and_may_complete_later() {
        let mut sync = RelatedSync::new(2);
        assert_eq!([sync.failed(1), sync.finish_list(0)], [None, FIRST]);
        assert_eq!([sync.failed(1), sync.finish_list(1)], [None, LATER]);
        let mut sync = RelatedSync::new(2);
        assert_eq!([sync.finish_list(0), sync.failed(1), sync.failed(1)], [None, FIRST, None]);
        sync.start_list(0);
        assert_eq!([sync.failed(0), sync.failed(1)], [None, None], "a failed list does not complete");
    }

    #[test]
    fn a_closed_watch_is_not_waited_for_at_the_start_and_no_news_later() {
        let mut sync = RelatedSync::new(2);
        assert_eq!([sync.closed(0), sync.closed(1), sync.closed(1)], [None, FIRST, None]);
        sync.start_list(0);
        assert_eq!([sync.finish_list(0), sync.closed(0)], [LATER, None]);
    }
}
