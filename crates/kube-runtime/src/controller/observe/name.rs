//! The names of the running controllers of a process.

use crate::capacity::release;
use parking_lot::Mutex;
use std::sync::Arc;

/// The names in use.
static NAMES: Mutex<Vec<Arc<str>>> = Mutex::new(Vec::new());

/// A name that no other running controller of the process has. Free again when it is dropped.
#[derive(Debug)]
pub(super) struct UniqueName(Arc<str>);

impl UniqueName {
    /// `wanted`, or else the first of `wanted-2`, `wanted-3` and so on that is free.
    pub(super) fn reserve(wanted: &str) -> Self {
        let mut names = NAMES.lock();
        let candidates = (1..).map(|number| match number {
            1 => wanted.into(),
            number => Arc::from(format!("{wanted}-{number}")),
        });
        let free: Arc<str> = candidates
            .into_iter()
            .find(|name| !names.contains(name))
            .expect("invariant: a finite number of names is in use");
        names.push(Arc::clone(&free));
        drop(names);
        if *free != *wanted {
            tracing::warn!(
                name = wanted,
                instead = &*free,
                "two controllers have the same name: set controller::Config::name"
            );
        }
        Self(free)
    }

    pub(super) fn get(&self) -> &Arc<str> {
        &self.0
    }
}

impl Drop for UniqueName {
    fn drop(&mut self) {
        let mut names = NAMES.lock();
        names.retain(|name| *name != self.0);
        release(&mut *names);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_free_again_after_its_controller() {
        let first = UniqueName::reserve("name-test");
        let second = UniqueName::reserve("name-test");
        assert_eq!([&**first.get(), &**second.get()], ["name-test", "name-test-2"]);
        drop(first);
        assert_eq!(&**UniqueName::reserve("name-test").get(), "name-test");
        assert_eq!(&**UniqueName::reserve("name-test-2").get(), "name-test-2-2");
    }
}
