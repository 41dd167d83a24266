//! Label selectors: a parsed selector prints as text that parses to an equal selector.
#![no_main]

use kube_core::{Selector, SelectorExt as _};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(selector) = text.parse::<Selector>() else { return };
    let printed = selector.to_string();
    let reparsed: Selector =
        printed.parse().unwrap_or_else(|error| panic!("{text:?} printed as {printed:?}: {error}"));
    assert_eq!(reparsed, selector, "{text:?} printed as {printed:?}");
    let _ = selector.matches(&[("a".to_owned(), "b".to_owned())].into());
});
