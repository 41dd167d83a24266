//! When everything that is related has been listed.

/// Which of several watches of one kind of related objects are being listed. No I/O.
///
/// After a list, every object is reconciled once more. Several watches that list at the same time, as at the start, are one list.
#[derive(Debug)]
pub(super) struct RelatedSync {
    listing: Vec<bool>,
    /// How many of them are true.
    count: usize,
    /// Whether a list came to its end since the last pass.
    listed: bool,
    passed: bool,
}

/// That every object is to be reconciled once more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) first: bool,
}

impl RelatedSync {
    pub(super) fn new(watches: usize) -> Self {
        Self { listing: vec![true; watches], count: watches, listed: false, passed: false }
    }

    pub(super) fn start_list(&mut self, watch: usize) {
        self.set(watch, true);
    }

    pub(super) fn finish_list(&mut self, watch: usize) -> Option<Pass> {
        self.set(watch, false);
        self.listed = true;
        self.pass()
    }

    /// A watch failed: the others do not wait for its list.
    pub(super) fn failed(&mut self, watch: usize) -> Option<Pass> {
        self.set(watch, false);
        self.pass()
    }

    fn set(&mut self, watch: usize, listing: bool) {
        let before = std::mem::replace(&mut self.listing[watch], listing);
        self.count = self.count + usize::from(listing) - usize::from(before);
    }

    fn pass(&mut self) -> Option<Pass> {
        if !self.listed || self.count > 0 {
            return None;
        }
        self.listed = false;
        Some(Pass { first: !std::mem::replace(&mut self.passed, true) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Option<Pass> = Some(Pass { first: true });
    const LATER: Option<Pass> = Some(Pass { first: false });

    #[test]
    fn one_pass_when_all_have_listed() {
        let mut sync = RelatedSync::new(3);
        assert_eq!([sync.finish_list(0), sync.finish_list(2), sync.finish_list(1)], [None, None, FIRST]);
        sync.start_list(1);
        assert_eq!(sync.finish_list(1), LATER, "and one for each later list");
        (0..3).for_each(|watch| sync.start_list(watch));
        assert_eq!([sync.finish_list(0), sync.finish_list(1), sync.finish_list(2)], [None, None, LATER]);
    }

    #[test]
    fn one_that_fails_is_not_waited_for_and_may_come_later() {
        let mut sync = RelatedSync::new(2);
        assert_eq!([sync.failed(1), sync.finish_list(0)], [None, FIRST]);
        assert_eq!([sync.failed(1), sync.finish_list(1)], [None, LATER]);
        let mut sync = RelatedSync::new(2);
        assert_eq!([sync.finish_list(0), sync.failed(1), sync.failed(1)], [None, FIRST, None]);
        sync.start_list(0);
        assert_eq!([sync.failed(0), sync.failed(1)], [None, None], "a list that failed is none");
    }
}
