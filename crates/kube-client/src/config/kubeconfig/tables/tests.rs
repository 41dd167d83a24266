use serde_json::json;

use super::*;
use crate::config::record::check_record;

#[test]
fn each_field_of_each_table_is_decoded_and_serialized() {
    check_record::<Kubeconfig>(|it| it.other.len());
    check_record::<Preferences>(|it| it.other.len());
    check_record::<NamedCluster>(|it| it.other.len());
    check_record::<Cluster>(|it| it.other.len());
    check_record::<NamedAuthInfo>(|it| it.other.len());
    check_record::<AuthInfo>(|it| it.other.len());
    check_record::<AuthProviderConfig>(|it| it.other.len());
    check_record::<ExecConfig>(|it| it.other.len());
    check_record::<ExecAuthCluster>(|_| 0);
    check_record::<NamedContext>(|it| it.other.len());
    check_record::<Context>(|it| it.other.len());
    check_record::<NamedExtension>(|_| 0);
}

#[test]
fn each_mode_of_exec_plugins_is_a_word_of_the_table() {
    let DataType::OneOf(words) = ExecInteractiveMode::TYPE else { panic!("not words") };
    let modes = [ExecInteractiveMode::Never, ExecInteractiveMode::IfAvailable, ExecInteractiveMode::Always];
    assert_eq!(serde_json::to_value(&modes).unwrap(), json!(words));
    for (mode, word) in modes.iter().zip(words) {
        assert_eq!(ExecInteractiveMode::take_from(&mut json!(word)).as_ref(), Some(mode));
        assert_eq!(serde_json::from_value::<ExecInteractiveMode>(json!(word)).unwrap(), *mode);
    }
}

/// `serde_json` passes on numbers as maps if a program enables its feature `arbitrary_precision`.
#[test]
fn a_precise_number_of_serde_json_is_a_number() {
    let text = r#"{"name": "a", "extension": [{"$serde_json::private::Number": "1.5"}]}"#;
    let extension: NamedExtension = serde_json::from_str(text).unwrap();
    assert_eq!(extension.extension, json!([1.5]));
}
