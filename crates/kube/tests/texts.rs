//! The page of texts that differ from kube 5.0 (`book/src/reference/texts.md`): what it says of this library is what this library prints.
//! The column of 5.0.0 is a record of what that version printed.

#![cfg(all(
    unix,
    feature = "runtime",
    feature = "admission",
    feature = "oidc",
    feature = "ws",
    feature = "rustls-tls"
))]
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::{
    Config, Error,
    api::{ObjectMeta, Patch, PatchParams, PostParams, entry::CommitValidationError},
    client::{
        AuthError, RustlsTlsError, UpgradeConnectionError,
        oidc_errors::{self, IdTokenError, RefreshError, RefreshInitError},
    },
    config::{InClusterError, KubeconfigError, LoadDataError, NoProxyError},
    core::{
        Duration, Request, Selector, Status, admission::ConvertAdmissionReviewError, crd::MergeError,
        error_boundary::InvalidObject,
    },
    runtime::{controller, finalizer, watcher},
};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    fmt::Display,
    io,
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus, Output},
};

const KUBECONFIG: &str = "/nonexistent/k";

#[test]
fn every_row_of_the_page_is_what_is_printed() {
    let page = include_str!("../../../book/src/reference/texts.md");
    let rows = page.lines().filter(|line| line.starts_with("| ")).skip(1);
    let documented: BTreeMap<&str, &str> = rows
        .map(|row| {
            // A bar within a cell is escaped.
            let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let [what, before, here] = cells[..] else { panic!("three cells: {row}") };
            assert_ne!(before, here, "{what} does not differ");
            (what, here)
        })
        .collect();
    let printed: BTreeMap<_, _> = printed().into_iter().collect();
    assert_eq!(printed.keys().collect::<Vec<_>>(), documented.keys().collect::<Vec<_>>());
    let wrong: Vec<_> = printed
        .iter()
        .filter(|(what, text)| documented[*what] != text.as_str())
        .map(|(what, text)| format!("| {what} | … | {text} |"))
        .collect();
    assert!(wrong.is_empty(), "the page has other texts for these:\n{}", wrong.join("\n"));
}

/// What a cell of the page has of a text.
fn cell(text: impl Display) -> String {
    let text = text.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "&lt;").replace('|', "\\|")
}

/// The name of each row, and the text of this library.
fn printed() -> Vec<(&'static str, String)> {
    [values(), requests(), errors(), auth(), tls(), oidc(), configuration(), watches()].concat()
}

fn row(what: &'static str, text: impl Display) -> (&'static str, String) {
    (what, cell(text))
}

fn outcome<T: Display>(result: Result<T, impl Display>) -> String {
    result.map_or_else(|error| error.to_string(), |value| format!("OK {value}"))
}

fn values() -> Vec<(&'static str, String)> {
    let duration = |text: &str| text.parse::<Duration>().unwrap();
    let selector = |operator: &str, values: Option<Vec<String>>| {
        let requirement = LabelSelectorRequirement { key: "k".into(), operator: operator.into(), values };
        outcome(Selector::try_from(LabelSelector {
            match_expressions: Some(vec![requirement]),
            match_labels: None,
        }))
    };
    let mut map = k8s_openapi::api::core::v1::ConfigMap::default();
    (map.metadata.name, map.metadata.namespace) = (Some("a".into()), Some("ns".into()));
    vec![
        row("`Duration` of 90.5 s", duration("90.5s")),
        row("`Duration` of zero", duration("0s")),
        row("`Duration` of 25 h", duration("90061s")),
        row("`\"\".parse::<Duration>()`", "".parse::<Duration>().unwrap_err()),
        row("a selector with the operator `Foo`", selector("Foo", None)),
        row("a selector `In` without values", selector("In", None)),
        row("a selector `In` with an empty list", selector("In", Some(Vec::new()))),
        row("a selector `Exists` with values", selector("Exists", Some(vec!["v".into()]))),
        row("`watcher::Event::Apply` (`Delete`, `InitApply`)", watcher::Event::Apply(map)),
        row("`Status`", not_found()),
        row("`Status` without a code", Status::failure("m", "r")),
        row("`Status::success()`", Status::success()),
    ]
}

fn requests() -> Vec<(&'static str, String)> {
    let request = Request::new("/api/v1/namespaces/ns/pods");
    let shown = |result: Result<http::Request<Vec<u8>>, kube::core::request::Error>| {
        outcome(result.map(|request| format!("{} {}", request.method(), request.uri())))
    };
    let apply = Patch::Apply(serde_json::json!({}));
    let create = PostParams { field_manager: Some("x".repeat(129)), ..PostParams::default() };
    vec![
        row("a request with an empty name", shown(request.get("", &Default::default()))),
        row("an apply without a field manager", shown(request.patch("a", &PatchParams::default(), &apply))),
        // Cut on the page.
        row(
            "a field manager of more than 128 bytes",
            shown(request.create(&create, Vec::new())).replace(&"x".repeat(129), "x…"),
        ),
    ]
}

fn not_found() -> Status {
    Status::failure("pods \"x\" not found", "NotFound").with_code(404)
}

fn cause() -> io::Error {
    io::Error::other("CAUSE")
}

fn json_error() -> serde_json::Error {
    serde_json::from_str::<serde_json::Value>("x").unwrap_err()
}

fn uri_error() -> http::uri::InvalidUri {
    "a b".parse::<http::Uri>().unwrap_err()
}

fn errors() -> Vec<(&'static str, String)> {
    let proxy_url = Box::new("ftp://u:pw@h/".parse().unwrap());
    let metadata = ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() };
    let mismatch =
        CommitValidationError::NamespaceMismatch { object_namespace: Some("a".into()), expected: None };
    let queue = controller::Error::<Infallible, _>::QueueError(watcher::Error::NoResourceVersion);
    vec![
        row("`InvalidObject`", InvalidObject { error: "X".into(), metadata }),
        row("`MergeError::PropertyMismatch`", MergeError::PropertyMismatch("X".into())),
        row("`ConvertAdmissionReviewError`", ConvertAdmissionReviewError),
        row("`Error::Api`", Error::Api(not_found().boxed())),
        row("`Error::SerdeError`", Error::SerdeError(json_error())),
        row("`Error::TlsRequired`", Error::TlsRequired),
        row("`Error::LinesCodecMaxLineLengthExceeded`", Error::LinesCodecMaxLineLengthExceeded),
        row("`Error::ProxyProtocolUnsupported`", Error::ProxyProtocolUnsupported { proxy_url }),
        row("`CommitValidationError::NamespaceMismatch`", mismatch),
        row("`controller::Error::QueueError`", queue),
        row("`finalizer::Error::InvalidFinalizer`", finalizer::Error::<Infallible>::InvalidFinalizer),
        row("`InferConfigError`", inferred()),
        row(
            "`UpgradeConnectionError::MissingConnectionUpgradeHeader`",
            UpgradeConnectionError::MissingConnectionUpgradeHeader,
        ),
        row(
            "`UpgradeConnectionError::MissingUpgradeWebSocketHeader`",
            UpgradeConnectionError::MissingUpgradeWebSocketHeader,
        ),
        row(
            "`UpgradeConnectionError::ProtocolSwitch`",
            UpgradeConnectionError::ProtocolSwitch(http::StatusCode::FORBIDDEN),
        ),
        row(
            "`UpgradeConnectionError::SecWebSocketAcceptKeyMismatch`",
            UpgradeConnectionError::SecWebSocketAcceptKeyMismatch,
        ),
        row(
            "`UpgradeConnectionError::SecWebSocketProtocolMismatch`",
            UpgradeConnectionError::SecWebSocketProtocolMismatch,
        ),
    ]
}

fn auth() -> Vec<(&'static str, String)> {
    let header_error = || http::HeaderValue::from_str("\n").unwrap_err();
    let out = Output { status: ExitStatus::from_raw(256), stdout: b"OUT".into(), stderr: b"ERR".into() };
    let ran = AuthError::AuthExecRun { cmd: "CMD".into(), out: Box::new(out) };
    vec![
        row("`AuthError::AuthExec`", AuthError::AuthExec("X".into())),
        row("`AuthError::AuthExecParse`", AuthError::AuthExecParse(Box::new(yaml_error()))),
        row("`AuthError::AuthExecRun`", ran),
        row("`AuthError::AuthExecSerialize`", AuthError::AuthExecSerialize(json_error())),
        row("`AuthError::AuthExecStart`", AuthError::AuthExecStart(cause())),
        row("`AuthError::ExecMissingClusterInfo`", AuthError::ExecMissingClusterInfo),
        row("`AuthError::ExecPluginFailed`", AuthError::ExecPluginFailed),
        row("`AuthError::InvalidBasicAuth`", AuthError::InvalidBasicAuth(header_error())),
        row("`AuthError::InvalidBearerToken`", AuthError::InvalidBearerToken(header_error())),
        row(
            "`AuthError::MalformedTokenExpirationDate`",
            AuthError::MalformedTokenExpirationDate(time_error()),
        ),
        row("`AuthError::MissingCommand`", AuthError::MissingCommand),
        row("`AuthError::NoValidNativeRootCA`", AuthError::NoValidNativeRootCA(cause())),
        row("`AuthError::Oidc`", AuthError::Oidc(oidc_errors::Error::IdTokenMissing)),
        row("`AuthError::ParseTokenKey`", AuthError::ParseTokenKey(json_error())),
        row("`AuthError::ReadTokenFile`", AuthError::ReadTokenFile(cause(), "/p".into())),
        row("`AuthError::UnrefreshableTokenResponse`", AuthError::UnrefreshableTokenResponse),
    ]
}

fn yaml_error() -> serde_saphyr::Error {
    serde_saphyr::from_str::<u8>("x").unwrap_err()
}

fn time_error() -> jiff::Error {
    "".parse::<jiff::Timestamp>().unwrap_err()
}

fn tls() -> Vec<(&'static str, String)> {
    vec![
        row("`RustlsTlsError::MissingCertificate`", RustlsTlsError::MissingCertificate),
        row("`RustlsTlsError::MissingPrivateKey`", RustlsTlsError::MissingPrivateKey),
        row("`RustlsTlsError::UnknownPrivateKeyFormat`", RustlsTlsError::UnknownPrivateKeyFormat),
        row("`RustlsTlsError::NoValidNativeRootCA`", RustlsTlsError::NoValidNativeRootCA(cause())),
        row("`RustlsTlsError::AddRootCertificate`", RustlsTlsError::AddRootCertificate("CAUSE".into())),
        row(
            "`RustlsTlsError::InvalidPrivateKey`",
            RustlsTlsError::InvalidPrivateKey(rustls::Error::DecryptError),
        ),
    ]
}

fn oidc() -> Vec<(&'static str, String)> {
    use oidc_errors::Error as E;
    let invalid_uri = || http::Error::from(uri_error());
    vec![
        row("`oidc_errors::Error::IdTokenMissing`", E::IdTokenMissing),
        row("`oidc_errors::Error::IdToken`", E::IdToken(IdTokenError::InvalidFormat)),
        row("`oidc_errors::Error::Refresh`", E::Refresh(RefreshError::NoIdTokenReceived)),
        row("`oidc_errors::Error::RefreshInit`", E::RefreshInit(RefreshInitError::MissingField("F"))),
        row("`oidc_errors::IdTokenError::InvalidBase64`", IdTokenError::InvalidBase64(base64_error())),
        row(
            "`oidc_errors::IdTokenError::InvalidExpirationTimestamp`",
            IdTokenError::InvalidExpirationTimestamp(time_error()),
        ),
        row("`oidc_errors::IdTokenError::InvalidFormat`", IdTokenError::InvalidFormat),
        row("`oidc_errors::IdTokenError::InvalidJson`", IdTokenError::InvalidJson(json_error())),
        row("`oidc_errors::RefreshError::AuthorizationFailure`", RefreshError::AuthorizationFailure),
        row("`oidc_errors::RefreshError::HttpError`", RefreshError::HttpError(invalid_uri())),
        row("`oidc_errors::RefreshError::InvalidMetadata`", RefreshError::InvalidMetadata(json_error())),
        row(
            "`oidc_errors::RefreshError::InvalidTokenResponse`",
            RefreshError::InvalidTokenResponse(json_error()),
        ),
        row("`oidc_errors::RefreshError::InvalidURI`", RefreshError::InvalidURI(uri_error())),
        row("`oidc_errors::RefreshError::NoIdTokenReceived`", RefreshError::NoIdTokenReceived),
        row(
            "`oidc_errors::RefreshError::RequestFailed`",
            RefreshError::RequestFailed(http::StatusCode::FORBIDDEN),
        ),
        row("`oidc_errors::RefreshInitError::MissingField`", RefreshInitError::MissingField("F")),
        row("`oidc_errors::RefreshInitError::NoValidNativeRootCA`", RefreshInitError::NoValidNativeRootCA),
    ]
}

fn base64_error() -> base64::DecodeError {
    base64::DecodeError::InvalidByte(0, b'!')
}

fn pem_error() -> pem::PemError {
    pem::PemError::MalformedFraming
}

fn configuration() -> Vec<(&'static str, String)> {
    use InClusterError as I;
    use KubeconfigError as K;
    let file = || LoadDataError::ReadFile(cause(), "/p".into());
    let no_host = NoProxyError::NoHost { uri: Box::new("/x".parse().unwrap()) };
    vec![
        row("`InClusterError::ParseCertificates`", I::ParseCertificates(pem_error())),
        row("`InClusterError::ParseClusterPort`", I::ParseClusterPort("x".parse::<u16>().unwrap_err())),
        row("`InClusterError::ParseClusterUrl`", I::ParseClusterUrl(uri_error())),
        row("`InClusterError::ReadCertificateBundle`", I::ReadCertificateBundle(cause())),
        row("`InClusterError::ReadDefaultNamespace`", I::ReadDefaultNamespace(cause())),
        row(
            "`InClusterError::ReadEnvironmentVariable`",
            I::ReadEnvironmentVariable(std::env::VarError::NotPresent),
        ),
        row("`KubeconfigError::ApiVersionMismatch`", K::ApiVersionMismatch),
        row("`KubeconfigError::CurrentContextNotSet`", K::CurrentContextNotSet),
        row("`KubeconfigError::FindPath`", K::FindPath),
        row("`KubeconfigError::KindMismatch`", K::KindMismatch),
        row("`KubeconfigError::LoadCertificateAuthority`", K::LoadCertificateAuthority(file())),
        row("`KubeconfigError::LoadClientCertificate`", K::LoadClientCertificate(file())),
        row("`KubeconfigError::LoadClientKey`", K::LoadClientKey(file())),
        row("`KubeconfigError::LoadClusterOfContext`", K::LoadClusterOfContext("X".into())),
        row("`KubeconfigError::LoadContext`", K::LoadContext("X".into())),
        row("`KubeconfigError::MissingClusterUrl`", K::MissingClusterUrl),
        row("`KubeconfigError::Parse`", K::Parse(Box::new(yaml_error()))),
        row("`KubeconfigError::ParseCertificates`", K::ParseCertificates(pem_error())),
        row("`KubeconfigError::ParseClusterUrl`", K::ParseClusterUrl(uri_error())),
        row("`KubeconfigError::ParseProxyUrl`", K::ParseProxyUrl(uri_error())),
        row("`KubeconfigError::ParseNoProxy`", K::ParseNoProxy(NoProxyError::EmptyInput)),
        row("`KubeconfigError::ReadConfig`", K::ReadConfig(cause(), "/p".into())),
        row("`LoadDataError::DecodeBase64`", LoadDataError::DecodeBase64(base64_error())),
        row("`LoadDataError::NoBase64DataOrFile`", LoadDataError::NoBase64DataOrFile),
        row("`LoadDataError::ReadFile`", file()),
        row("`NoProxyError::EmptyInput`", NoProxyError::EmptyInput),
        row("`NoProxyError::EmptyValue`", NoProxyError::EmptyValue),
        row("`NoProxyError::NoHost`", no_host),
        row("`NoProxyError::ParseMatcher`", NoProxyError::ParseMatcher { input: "X".into() }),
    ]
}

fn watches() -> Vec<(&'static str, String)> {
    use watcher::Error as W;
    let api = || Error::Api(not_found().boxed());
    vec![
        row("`watcher::Error::InitialListFailed`", W::InitialListFailed(api())),
        row("`watcher::Error::NoResourceVersion`", W::NoResourceVersion),
        row("`watcher::Error::WatchError`", W::WatchError(not_found().boxed())),
        row("`watcher::Error::WatchFailed`", W::WatchFailed(api())),
        row("`watcher::Error::WatchStartFailed`", W::WatchStartFailed(api())),
    ]
}

/// Only a process with these variables can make an `InferConfigError`: this test, run by itself, is one.
fn inferred() -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "without_a_configuration_there_is_an_error", "--nocapture"]);
    for unset in ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"] {
        child.env_remove(unset);
    }
    let output = child.env("KUBECONFIG", KUBECONFIG).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.split_once("error: ")).unwrap_or_else(|| panic!("{text}"));
    line.1.to_owned()
}

#[tokio::test]
async fn without_a_configuration_there_is_an_error() {
    if std::env::var_os("KUBECONFIG").is_some_and(|path| path == KUBECONFIG) {
        println!("error: {}", Config::infer().await.unwrap_err());
    }
}
