//! The defaults that a program can read have the values of the page "Defaults".

use kube::Config;
use kube::runtime::watcher::{self, InitialListStrategy, ListSemantic};
use std::time::Duration;

#[test]
fn defaults_are_those_of_the_page() {
    let config = Config::new("https://localhost".parse().unwrap());
    assert_eq!(config.connect_timeout, Some(Duration::from_secs(30)));
    assert_eq!(config.response_timeout, Some(Duration::from_secs(55)));
    assert_eq!((config.read_timeout, config.write_timeout), (None, None));
    assert_eq!(config.exec_timeout, Some(Duration::from_secs(60)));
    assert_eq!(config.collect_limit, 256 << 20);
    assert!(config.default_retry && !config.disable_compression);
    assert_eq!(config.default_namespace, "default");

    let watch = watcher::Config::default();
    assert_eq!((watch.page_size, watch.bookmarks, watch.managed_fields), (Some(500), true, true));
    assert_eq!(watch.list_semantic, ListSemantic::MostRecent);
    assert_eq!(watch.initial_list_strategy, InitialListStrategy::ListWatch);
}
