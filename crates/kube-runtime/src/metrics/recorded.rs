//! The guard around the recorder, which is code of the program.

use crate::unwind::catch_panic;
use std::sync::atomic::{AtomicBool, Ordering};

/// The handles of a recorder, until it panics.
pub(super) struct Recorded<H> {
    /// Such as the name of the controller.
    of: Box<str>,
    handles: Option<H>,
    panicked: AtomicBool,
}

impl<H> Recorded<H> {
    pub(super) fn new(of: &str, look_up: impl FnOnce() -> H) -> Self {
        let handles = catch_panic(look_up).inspect_err(|message| report(of, message)).ok();
        Self { of: of.into(), handles, panicked: AtomicBool::new(false) }
    }

    /// Records something. After a panic, which is logged, nothing is recorded any more.
    pub(super) fn record(&self, record: impl FnOnce(&H)) {
        let Some(handles) = self.handles.as_ref().filter(|_| !self.panicked.load(Ordering::Relaxed)) else {
            return;
        };
        if let Err(message) = catch_panic(|| record(handles)) {
            self.panicked.store(true, Ordering::Relaxed);
            report(&self.of, &message);
        }
    }
}

fn report(of: &str, message: &str) {
    tracing::error!(
        controller = of,
        message,
        "the metrics recorder panicked: these metrics are not recorded any more"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn after_a_panic_nothing_is_recorded() {
        let recorded = Recorded::new("a", || Cell::new(0));
        let count = |handles: &Cell<u8>| {
            handles.set(handles.get() + 1);
            assert!(handles.get() < 2, "full");
        };
        (0..5).for_each(|_| recorded.record(count));
        assert_eq!(recorded.handles.as_ref().map(Cell::get), Some(2));
        let broken = Recorded::<()>::new("a", || panic!("no recorder"));
        broken.record(|()| unreachable!());
    }
}
