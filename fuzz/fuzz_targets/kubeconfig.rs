//! Kubeconfigs: any text is a kubeconfig or an error, what was read can be written and read again, and using it gives a configuration or
//! an error.
#![no_main]

use kube_client::Config;
use kube_client::config::Kubeconfig;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(config) = Kubeconfig::from_yaml(text) else { return };
    let written = serde_json::to_value(&config).expect("a kubeconfig that was read can be written");
    let again = Kubeconfig::from_yaml(&written.to_string()).expect("a kubeconfig that was written can be read");
    let again_written = serde_json::to_value(&again).expect("it can be written again");
    assert_eq!(written, again_written);
    let merged = config.clone().merge(again).expect("a kubeconfig can be merged with itself");
    let _ = format!("{merged:?}");
    // Files that it names are not to be opened here.
    let names_files = text.contains("certificate") || text.contains("key");
    if !names_files {
        let _ = Config::try_from(config);
    }
});
