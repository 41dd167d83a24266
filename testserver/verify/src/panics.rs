//! Panics of the operator, which its runtime may catch.

use std::{
    cell::RefCell,
    panic::{set_hook, take_hook},
    sync::Once,
};

thread_local! {
    /// The panics of this thread, while it runs an operator.
    static PANICS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Collects panics of this thread from now on, in place of printing them. Those of other threads are printed as before.
pub(crate) fn collect() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            let collected = PANICS.with_borrow_mut(|panics| {
                let text = panic.to_string().replace('\n', " ");
                panics.as_mut().map(|panics| panics.push(text)).is_some()
            });
            if !collected {
                before(panic);
            }
        }));
    });
    PANICS.set(Some(Vec::new()));
}

/// The panics since [`collect`]. Later ones are printed again.
pub(crate) fn take() -> Vec<String> {
    PANICS.take().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_of_a_run_are_collected_with_their_place() {
        collect();
        assert!(std::panic::catch_unwind(|| panic!("of the operator")).is_err());
        let panics = take();
        assert!(panics[0].contains("panics.rs") && panics[0].ends_with("of the operator"), "{panics:?}");
        assert!(take().is_empty());
    }
}
