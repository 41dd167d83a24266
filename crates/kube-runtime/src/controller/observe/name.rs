//! The names of the running controllers of a process.

use crate::{
    capacity::release,
    metrics::{Subject, Together},
};
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

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

    fn get(&self) -> &Arc<str> {
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

/// The name of a running controller: its own, or that of several that are one in logs and metrics.
#[derive(Debug)]
pub(crate) struct ControllerName(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    name: UniqueName,
    together: Option<Together>,
}

impl ControllerName {
    /// See [`UniqueName::reserve`].
    pub(crate) fn alone(wanted: &str) -> Self {
        Self(Arc::new(Shared { name: UniqueName::reserve(wanted), together: None }))
    }

    pub(super) fn subject(&self) -> Subject {
        let Shared { name, together } = &*self.0;
        Subject { controller: Arc::clone(name.get()), together: together.clone() }
    }
}

/// Controllers that have one name on purpose. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedNames(Arc<Mutex<HashMap<Box<str>, Weak<Shared>>>>);

impl SharedNames {
    /// The name of all of these controllers that want this one.
    pub(crate) fn name(&self, wanted: &str) -> ControllerName {
        let mut names = self.0.lock();
        if let Some(shared) = names.get(wanted).and_then(Weak::upgrade) {
            return ControllerName(shared);
        }
        names.retain(|_, shared| shared.strong_count() > 0);
        let shared =
            Arc::new(Shared { name: UniqueName::reserve(wanted), together: Some(Together::default()) });
        names.insert(wanted.into(), Arc::downgrade(&shared));
        ControllerName(shared)
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

    #[test]
    fn what_shares_a_name_has_it_until_the_last_one_has_ended() {
        let (one, other) = (SharedNames::default(), SharedNames::default());
        let names = |name: &ControllerName| name.subject().controller.to_string();
        let (first, second, of_others) = (one.name("shared"), one.name("shared"), other.name("shared"));
        assert_eq!([&first, &second, &of_others].map(names), ["shared", "shared", "shared-2"]);
        drop(first);
        assert_eq!(names(&ControllerName::alone("shared")), "shared-3");
        drop(second);
        assert_eq!(names(&ControllerName::alone("shared")), "shared");
        drop(one.name("another"));
        assert!(one.0.lock().len() == 1, "nothing is kept of those that have ended");
    }
}
