//! Kubeconfigs: any text is a kubeconfig or an error. A parsed kubeconfig can be serialized, parsed again and merged; `Config` accepts it
//! or returns an error.
#![no_main]

use kube_client::Config;
use kube_client::config::Kubeconfig;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(config) = Kubeconfig::from_yaml(text) else { return };
    let written = serde_json::to_value(&config).expect("a parsed kubeconfig can be serialized");
    let reparsed =
        Kubeconfig::from_yaml(&written.to_string()).expect("a serialized kubeconfig can be parsed");
    let rewritten = serde_json::to_value(&reparsed).expect("a parsed kubeconfig can be serialized");
    assert_eq!(written, rewritten);
    let merged = config.clone().merge(reparsed).expect("a kubeconfig can be merged with itself");
    let _ = format!("{merged:?}");
    // Do not open the files that the input names.
    let may_name_files = text.contains("certificate") || text.contains("key");
    if !may_name_files {
        let _ = Config::try_from(config);
    }
});
