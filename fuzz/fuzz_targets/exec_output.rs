//! The output of exec plugins: any input is a credential or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|output: &[u8]| {
    kube_client::fuzz::exec_output(output);
});
