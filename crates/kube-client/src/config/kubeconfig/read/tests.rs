//! Reading kubeconfigs: text, files and the list in `KUBECONFIG`, with the limits against hostile text.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;

use secrecy::ExposeSecret;

use super::*;

#[test]
fn unknown_keys_survive_a_round_trip_at_every_level() {
    let text = r"
apiVersion: v1
kind: Config
top: {a: 1}
clusters: [{name: c, beside: x, cluster: {server: https://h, new-cluster-key: [1, 2]}}]
users: [{name: u, user: {token: abc, new-user-key: true, exec: {command: x, newExecKey: 7}}}]
contexts: [{name: x, context: {cluster: c, user: u, new-context-key: y}}]
";
    let config = Kubeconfig::from_yaml(text).unwrap();
    assert_eq!(config.other["top"]["a"], 1);
    assert_eq!(config.clusters[0].other["beside"], "x");
    let written = serde_json::to_string(&config).unwrap();
    let again = Kubeconfig::from_yaml(&written).unwrap();
    assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::to_value(&config).unwrap());
    let user = again.auth_infos[0].auth_info.as_ref().unwrap();
    assert_eq!(user.token.as_ref().unwrap().expose_secret(), "abc");
    assert_eq!(user.other["new-user-key"], true);
    assert_eq!(user.exec.as_ref().unwrap().other["newExecKey"], 7);
}

#[test]
fn debug_output_has_no_secrets() {
    let text = "clusters: [{name: c, cluster: {proxy-url: 'http://me:hush@p:1'}}]
users: [{name: u, user: {token: hush, password: hush, client-key-data: hush,
        auth-provider: {name: oidc, config: {id-token: hush}}}}]";
    let shown = format!("{:?}", Kubeconfig::from_yaml(text).unwrap());
    assert!(!shown.contains("hush"), "{shown}");
    assert!(shown.contains("id-token"));
}

#[test]
fn empty_text_and_null_lists_are_an_empty_kubeconfig() {
    assert!(Kubeconfig::from_yaml("").unwrap().clusters.is_empty());
    assert!(Kubeconfig::from_yaml("clusters: null\nusers:\ncontexts: []\n").unwrap().contexts.is_empty());
}

#[test]
fn several_documents_are_merged() {
    let text = "clusters: [{name: a}]\n---\nclusters: [{name: a}, {name: b}]\ncurrent-context: x\n";
    let config = Kubeconfig::from_yaml(text).unwrap();
    assert_eq!(config.clusters.len(), 2);
    assert_eq!(config.current_context.as_deref(), Some("x"));
}

#[test]
fn booleans_are_those_of_kubectl() {
    let insecure = |value: &str| {
        let text = format!("clusters: [{{name: c, cluster: {{insecure-skip-tls-verify: {value}}}}}]");
        let config = Kubeconfig::from_yaml(&text).map_err(|err| format!("{err:?}"))?;
        Ok::<_, String>(config.clusters[0].cluster.as_ref().unwrap().insecure_skip_tls_verify)
    };
    for (value, expected) in
        [("true", Some(true)), ("True", Some(true)), ("yes", Some(true)), ("on", Some(true)), ("~", None)]
    {
        assert_eq!(insecure(value), Ok(expected), "{value}");
    }
    for (value, expected) in [("false", Some(false)), ("no", Some(false)), ("off", Some(false))] {
        assert_eq!(insecure(value), Ok(expected), "{value}");
    }
    for value in ["\"yes\"", "\"true\"", "'y'", "1", "\"\"", "[true]"] {
        let err = insecure(value).unwrap_err();
        assert!(err.contains("clusters[0].cluster.insecure-skip-tls-verify: "), "{value}: {err}");
        assert!(err.contains("expected true or false without quotes"), "{value}: {err}");
    }
    let others = "clusters: [{name: c, cluster: {disable-compression: yes}}]
preferences: {colors: true}
users: [{name: u, user: {exec: {command: x, provideClusterInfo: true}}}]";
    let config = Kubeconfig::from_yaml(others).unwrap();
    assert_eq!(config.clusters[0].cluster.as_ref().unwrap().disable_compression, Some(true));
    assert_eq!(config.preferences.unwrap().colors, Some(true));
    assert!(config.auth_infos[0].auth_info.as_ref().unwrap().exec.as_ref().unwrap().provide_cluster_info);
    let quoted = Kubeconfig::from_yaml("users: [{name: u, user: {exec: {provideClusterInfo: 'no'}}}]");
    assert!(format!("{quoted:?}").contains("users[0].user.exec.provideClusterInfo: "), "{quoted:?}");
}

#[test]
fn a_duplicate_name_in_a_document_is_an_error() {
    for (list, entry) in [("clusters", "{name: a}"), ("users", "{name: a}"), ("contexts", "{name: a}")] {
        let err = Kubeconfig::from_yaml(&format!("{list}: [{entry}, {entry}]")).unwrap_err();
        let KubeconfigError::Parse(cause) = &err else { panic!("{err:?}") };
        assert!(cause.to_string().contains(&format!("`{list}` has the name \"a\" twice")), "{cause}");
    }
}

#[test]
fn text_that_is_not_a_kubeconfig_is_an_error() {
    for text in ["clusters: 5", "clusters: [{name: [}", "- a\n- b\n"] {
        assert!(matches!(Kubeconfig::from_yaml(text), Err(KubeconfigError::Parse(_))), "{text}");
    }
}

/// Each of these is what kubectl 1.37 reads, too.
#[test]
fn text_after_a_json_document_is_not_read() {
    let json = r#"{"kind": "Config", "current-context": "one"}"#;
    for rest in
        ["garbage", "{\"current-context\": \"two\"}", "}", "# a comment", "a: [", "", "---", "---\nx: [b"]
    {
        let config = Kubeconfig::from_yaml(&format!("{json}\n{rest}\n")).unwrap();
        assert_eq!(config.current_context.as_deref(), Some("one"), "{rest}");
    }
}

/// kubectl reads the first document only.
#[test]
fn a_document_after_the_first_one_does_not_refuse_the_file() {
    let first = "kind: Config\ncurrent-context: one\n";
    for next in
        ["a: [", "kind: Foo", "clusters: 3", "clusters: [{name: a}, {name: a}]", "current-context: two"]
    {
        let config = Kubeconfig::from_yaml(&format!("{first}---\n{next}\n")).unwrap();
        assert_eq!(config.current_context.as_deref(), Some("one"), "{next}");
    }
}

#[test]
fn another_kind_of_document_is_refused_when_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    for (text, expected) in [
        ("kind: Foo", "`kind` is \"Foo\": expected \"Config\""),
        ("apiVersion: v2", "`apiVersion` is \"v2\""),
    ] {
        fs::write(&path, text).unwrap();
        let err = Kubeconfig::read_from(&path).unwrap_err().to_string();
        assert!(err.contains(expected) && err.contains(path.to_str().unwrap()), "{err}");
        let err = crate::Config::try_from(Kubeconfig::from_yaml(text).unwrap()).unwrap_err().to_string();
        assert!(err.contains(expected), "{err}");
    }
}

#[test]
fn alias_bombs_and_deep_nesting_are_errors() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(9);
        writeln!(bomb, "a{level}: &a{level} [{below} x]").unwrap();
    }
    assert!(matches!(Kubeconfig::from_yaml(&bomb), Err(KubeconfigError::Parse(_))));

    let deep = format!("x: {}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(matches!(Kubeconfig::from_yaml(&deep), Err(KubeconfigError::Parse(_))));
    let deep = format!("x: {}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    assert!(matches!(Kubeconfig::from_yaml(&deep), Err(KubeconfigError::Parse(_))));
}

#[test]
fn relative_paths_are_resolved_against_the_directory_of_their_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config");
    fs::write(
        &file,
        "clusters: [{name: c, cluster: {certificate-authority: ca.crt}}]
users:
- {name: u, user: {client-certificate: ./tls/c.crt, client-key: /abs/c.key, tokenFile: token, exec: {command: bin/login}}}
- {name: v, user: {exec: {command: aws}}}
",
    )
    .unwrap();
    let config = Kubeconfig::read_from(&file).unwrap();
    let inside = |name: &str| Some(directory.path().join(name).to_str().unwrap().to_owned());
    assert_eq!(config.clusters[0].cluster.as_ref().unwrap().certificate_authority, inside("ca.crt"));
    let user = config.auth_infos[0].auth_info.as_ref().unwrap();
    assert_eq!(user.client_certificate, inside("./tls/c.crt"));
    assert_eq!(user.client_key.as_deref(), Some("/abs/c.key"));
    assert_eq!(user.token_file, inside("token"));
    assert_eq!(user.exec.as_ref().unwrap().command, inside("bin/login"));
    let bare = config.auth_infos[1].auth_info.as_ref().unwrap().exec.as_ref().unwrap();
    assert_eq!(bare.command.as_deref(), Some("aws"));
}

#[test]
fn errors_have_the_path_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("broken");
    fs::write(&file, "clusters: 5\n").unwrap();
    let err = Kubeconfig::read_from(&file).unwrap_err();
    let KubeconfigError::Parse(cause) = &err else { panic!("{err:?}") };
    assert!(cause.to_string().contains("broken"), "{cause}");

    let missing = Kubeconfig::read_from(directory.path().join("missing")).unwrap_err();
    assert!(missing.to_string().contains("missing"), "{missing}");
    fs::write(&file, [0xC0, 0x00, 0xFF]).unwrap();
    assert!(matches!(Kubeconfig::read_from(&file), Err(KubeconfigError::ReadConfig(_, _))));
}

#[test]
fn utf16_and_utf8_with_byte_order_marks_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bom");
    let text = "current-context: x\n";
    let utf16: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    for bytes in [utf16, [&[0xEF, 0xBB, 0xBF], text.as_bytes()].concat()] {
        fs::write(&file, bytes).unwrap();
        assert_eq!(Kubeconfig::read_from(&file).unwrap().current_context.as_deref(), Some("x"));
    }
}

#[test]
fn listed_files_are_merged_and_missing_ones_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("a"), "clusters: [{name: c, cluster: {server: https://a}}]\n").unwrap();
    fs::write(path("b"), "clusters: [{name: c, cluster: {server: https://b}}]\ncurrent-context: x\n")
        .unwrap();
    let list = std::env::join_paths([path("missing"), path("a"), path("b")]).unwrap();
    let files = read_paths(&paths_in(&list)).unwrap();
    assert_eq!(files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>(), [path("a"), path("b")]);
    let (config, _) = merge_files(files).unwrap();
    assert_eq!(config.clusters[0].cluster.as_ref().unwrap().server.as_deref(), Some("https://a"));
    assert_eq!(config.current_context.as_deref(), Some("x"));

    assert!(read_paths(&paths_in(&OsString::new())).unwrap().is_empty());
    let none = read_paths(&[path("missing")]);
    assert!(matches!(none, Err(KubeconfigError::ReadConfig(_, _))));
    fs::write(path("broken"), "clusters: 5").unwrap();
    let list = std::env::join_paths([path("a"), path("broken")]).unwrap();
    assert!(matches!(read_paths(&paths_in(&list)), Err(KubeconfigError::Parse(_))));
}
