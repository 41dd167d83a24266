//! Snapshots of the message of every public error. `{}` alone has to have the cause.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::error::Error as StdError;
use std::io;

use kube_client::api::entry::{CommitError, CommitValidationError};
use kube_client::client::oidc_errors::{Error as OidcError, IdTokenError, RefreshError, RefreshInitError};
use kube_client::client::{
    AuthError, ConfigExt, OAuthError, OpensslTlsError, RustlsTlsError, UpgradeConnectionError,
};
use kube_client::config::{
    Config, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError, LoadDataError, NoProxyError,
};
use kube_client::error::{DiscoveryError, ErrorChain, Status};
use kube_client::{Client, Error};
use tame_oauth::Error as TameError;

/// Messages in the order of the enums.
#[derive(Default)]
struct Messages(String);

impl Messages {
    fn add(&mut self, name: &str, err: &(dyn StdError + 'static)) {
        let message = err.to_string();
        assert_eq!(message, ErrorChain(err).to_string(), "{name}: `{{}}` has all causes, in one line");
        // Left out, because it differs between systems and releases of OpenSSL.
        let message = message.replace(" (os error 111)", "").replace(" (os error 61)", "");
        let message =
            message.split_once("error:0").map_or(message.clone(), |(before, _)| format!("{before}OPENSSL"));
        self.0.push_str(&format!("{name}\n    {message}\n"));
    }
}

/// One error for each variant; a missing variant does not compile. Variants that only the crate can construct are tested there
/// (`elsewhere`).
macro_rules! every {
    ($messages:ident, $type:ident { $($variant:ident => $value:expr),* $(,)? } $(elsewhere { $($other:ident),* })?) => {
        let _ = |err: &$type| match err { $($type::$variant { .. } => (),)* $($($type::$other { .. } => (),)*)? };
        $($messages.add(concat!(stringify!($type), "::", stringify!($variant)), &{
            #[allow(unused_imports)]
            use $type::*;
            $value
        });)*
    };
}

fn not_found() -> io::Error {
    io::Error::from_raw_os_error(2)
}

fn bad_json() -> serde_json::Error {
    serde_json::from_str::<std::collections::BTreeMap<String, u8>>(r#"{"replicas": "two"}"#).unwrap_err()
}

fn bad_yaml() -> Box<serde_saphyr::Error> {
    Box::new(serde::de::Error::custom("expected a map at line 1, column 1"))
}

fn bad_uri() -> http::uri::InvalidUri {
    "https://a b".parse::<http::Uri>().unwrap_err()
}

fn bad_header() -> http::header::InvalidHeaderValue {
    http::HeaderValue::from_str("a\nb").unwrap_err()
}

fn bad_request() -> http::Error {
    http::Request::get("https://a b").body(()).unwrap_err()
}

fn bad_base64() -> base64::DecodeError {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode("a!bc").unwrap_err()
}

fn bad_time() -> jiff::Error {
    "soon".parse::<jiff::Timestamp>().unwrap_err()
}

fn bad_certificate() -> Box<dyn StdError + Send + Sync> {
    Box::new(rustls::Error::InvalidCertificate(rustls::CertificateError::BadEncoding))
}

fn bad_openssl() -> openssl::error::ErrorStack {
    openssl::x509::X509::from_der(b"").map(drop).unwrap_err()
}

fn bad_identity() -> Error {
    let user = "client-certificate-data: YWJj, client-key-data: YWJj";
    let text = format!(
        "clusters: [{{name: c, cluster: {{server: 'https://h'}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n\
                        contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
    );
    let config = Config::try_from(Kubeconfig::from_yaml(&text).unwrap()).unwrap();
    config.openssl_ssl_connector_builder().map(drop).unwrap_err()
}

async fn closed() -> hyper::Error {
    let (client, server) = tokio::io::duplex(64);
    let client = hyper_util::rt::TokioIo::new(client);
    let (mut sender, connection) = hyper::client::conn::http1::handshake::<_, String>(client).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(http::Request::new(String::new()));
    drop(server);
    response.await.unwrap_err()
}

async fn unreachable() -> hyper_util::client::legacy::Error {
    let executor = hyper_util::rt::TokioExecutor::new();
    let client = hyper_util::client::legacy::Client::builder(executor).build_http::<String>();
    client.get(http::Uri::from_static("http://127.0.0.1:1")).await.unwrap_err()
}

fn status() -> Box<Status> {
    Status::failure("pods \"web\" not found", "NotFound").with_code(404).boxed()
}

fn url(text: &str) -> Box<http::Uri> {
    Box::new(text.parse().unwrap())
}

/// The error of a call through the default stack.
async fn call(url: &str) -> Error {
    let mut config = Config::new(url.parse().unwrap());
    config.default_retry = false;
    Client::try_from(config).unwrap().apiserver_version().await.unwrap_err()
}

fn failed_plugin() -> std::process::Output {
    use std::os::unix::process::ExitStatusExt as _;
    let status = std::process::ExitStatus::from_raw(3 << 8);
    std::process::Output { status, stdout: Vec::new(), stderr: b"\nno session:\n  log in first\n".to_vec() }
}

#[tokio::test]
async fn of_calls() {
    let mut list = Messages::default();
    every!(list, Error {
        Api => Api(status()),
        HyperError => HyperError(closed().await),
        Service => call("http://127.0.0.1:1").await,
        ProxyProtocolDisabled => ProxyProtocolDisabled { proxy_url: url("socks5://proxy:1080"), protocol_feature: "socks5" },
        ProxyProtocolUnsupported => ProxyProtocolUnsupported { proxy_url: url("gopher://proxy") },
        FromUtf8 => FromUtf8(String::from_utf8(vec![b'a', 0xff]).unwrap_err()),
        LinesCodecMaxLineLengthExceeded => LinesCodecMaxLineLengthExceeded,
        ReadEvents => ReadEvents(io::Error::new(io::ErrorKind::ConnectionReset, closed().await)),
        HttpError => HttpError(bad_request()),
        SerdeError => SerdeError(bad_json()),
        BuildRequest => BuildRequest(kube_client::core::request::Error::BuildRequest(bad_request())),
        Discovery => Discovery(DiscoveryError::MissingKind("Widget".into())),
        InferKubeconfig => InferKubeconfig(KubeconfigError::ParseClusterUrl(bad_uri())),
        TlsRequired => TlsRequired,
        RustlsTls => RustlsTls(RustlsTlsError::MissingPrivateKey),
        OpensslTls => bad_identity(),
        Auth => Auth(AuthError::ReadTokenFile(not_found(), "/run/token".into())),
        UpgradeConnection => UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(http::StatusCode::OK)),
        RefResolve => RefResolve("it has no name".into()),
    } elsewhere { InferConfig });
    every!(list, DiscoveryError {
        MissingKind => MissingKind("Widget".into()),
        MissingApiGroup => MissingApiGroup("example.com".into()),
        MissingResource => MissingResource("widgets".into()),
        EmptyApiGroup => EmptyApiGroup("example.com".into()),
        InvalidGroupVersion => InvalidGroupVersion("a/b/c".into()),
    });
    every!(list, CommitError {
        Validate => Validate(CommitValidationError::NameMismatch { object_name: "a".into(), expected: "b".into() }),
        Save => Save(Error::Api(status())),
    });
    every!(list, CommitValidationError {
        NameMismatch => NameMismatch { object_name: "a".into(), expected: "b".into() },
        NamespaceMismatch => NamespaceMismatch { object_namespace: Some("a".into()), expected: None },
        GenerateName => GenerateName { object_generate_name: "a-".into() },
    });
    every!(list, UpgradeConnectionError {
        ProtocolSwitch => ProtocolSwitch(http::StatusCode::OK),
        MissingUpgradeWebSocketHeader => MissingUpgradeWebSocketHeader,
        MissingConnectionUpgradeHeader => MissingConnectionUpgradeHeader,
        SecWebSocketAcceptKeyMismatch => SecWebSocketAcceptKeyMismatch,
        SecWebSocketProtocolMismatch => SecWebSocketProtocolMismatch,
        GetPendingUpgrade => GetPendingUpgrade(closed().await),
    });
    insta::assert_snapshot!(list.0);
}

#[tokio::test]
async fn of_configurations() {
    let mut list = Messages::default();
    every!(list, KubeconfigError {
        CurrentContextNotSet => CurrentContextNotSet,
        KindMismatch => KindMismatch,
        ApiVersionMismatch => ApiVersionMismatch,
        LoadContext => Config::from_custom_kubeconfig(Kubeconfig::default(), &KubeConfigOptions {
            context: Some("prod".into()), ..KubeConfigOptions::default() }).await.unwrap_err(),
        LoadClusterOfContext => Config::from_custom_kubeconfig(Kubeconfig::default(), &KubeConfigOptions {
            cluster: Some("prod".into()), user: Some("jane".into()), context: None }).await.unwrap_err(),
        FindPath => FindPath,
        ReadConfig => Kubeconfig::read_from("/does/not/exist").unwrap_err(),
        Parse => Kubeconfig::from_yaml("clusters: 5").unwrap_err(),
        MissingClusterUrl => MissingClusterUrl,
        ParseClusterUrl => ParseClusterUrl(bad_uri()),
        ParseProxyUrl => ParseProxyUrl(bad_uri()),
        ParseNoProxy => ParseNoProxy(NoProxyError::ParseMatcher { input: "10.0.0.0/99".into() }),
        LoadCertificateAuthority => LoadCertificateAuthority(LoadDataError::ReadFile(not_found(), "/etc/ca.crt".into())),
        LoadClientCertificate => LoadClientCertificate(LoadDataError::DecodeBase64(bad_base64())),
        LoadClientKey => LoadClientKey(LoadDataError::NoBase64DataOrFile),
        ParseCertificates => ParseCertificates(pem::parse("x").unwrap_err()),
    });
    every!(list, LoadDataError {
        DecodeBase64 => DecodeBase64(bad_base64()),
        ReadFile => ReadFile(not_found(), "/etc/ca.crt".into()),
        NoBase64DataOrFile => NoBase64DataOrFile,
    });
    every!(list, NoProxyError {
        EmptyInput => EmptyInput,
        EmptyValue => EmptyValue,
        NoHost => NoHost { uri: url("/path") },
        ParseMatcher => ParseMatcher { input: "10.0.0.0/99".into() },
    });
    every!(list, InClusterError {
        ReadDefaultNamespace => ReadDefaultNamespace(not_found()),
        ReadEnvironmentVariable => ReadEnvironmentVariable(std::env::VarError::NotPresent),
        ReadCertificateBundle => ReadCertificateBundle(not_found()),
        ParseClusterPort => ParseClusterPort("many".parse::<u16>().unwrap_err()),
        ParseClusterUrl => ParseClusterUrl(bad_uri()),
        ParseCertificates => ParseCertificates(pem::parse("x").unwrap_err()),
    });
    every!(list, RustlsTlsError {
        InvalidIdentityPem => InvalidIdentityPem(rustls::pki_types::pem::Error::NoItemsFound),
        MissingCertificate => MissingCertificate,
        MissingPrivateKey => MissingPrivateKey,
        UnknownPrivateKeyFormat => UnknownPrivateKeyFormat,
        InvalidPrivateKey => InvalidPrivateKey(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)),
        AddRootCertificate => AddRootCertificate(bad_certificate()),
        NoValidNativeRootCA => NoValidNativeRootCA(not_found()),
        InvalidServerName => InvalidServerName(rustls::pki_types::ServerName::try_from("a b").unwrap_err()),
    });
    every!(list, OpensslTlsError {
        CreateHttpsConnector => CreateHttpsConnector(bad_openssl()),
    } elsewhere { CreateSslConnector });
    insta::assert_snapshot!(list.0);
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table: one error for each variant")]
async fn of_credentials() {
    let mut list = Messages::default();
    every!(list, AuthError {
        InvalidBasicAuth => InvalidBasicAuth(bad_header()),
        InvalidBearerToken => InvalidBearerToken(bad_header()),
        UnrefreshableTokenResponse => UnrefreshableTokenResponse,
        AuthExecRun => AuthExecRun { cmd: "login --quiet".into(), out: Box::new(failed_plugin()) },
        AuthExecParse => AuthExecParse(bad_yaml()),
        AuthExecSerialize => AuthExecSerialize(bad_json()),
        AuthExecStart => AuthExecStart(not_found()),
        AuthExec => AuthExec("it broke off".into()),
        ExecMissingClusterInfo => ExecMissingClusterInfo,
        ExecPluginFailed => ExecPluginFailed,
        MissingCommand => MissingCommand,
        MalformedTokenExpirationDate => MalformedTokenExpirationDate(bad_time()),
        NoValidNativeRootCA => NoValidNativeRootCA(not_found()),
        ParseTokenKey => ParseTokenKey(bad_json()),
        OAuth => OAuth(OAuthError::NoDefaultProvider),
        Oidc => Oidc(OidcError::IdToken(IdTokenError::InvalidFormat)),
        ReadTokenFile => ReadTokenFile(not_found(), "/run/token".into()),
    });
    every!(list, OidcError {
        IdTokenMissing => IdTokenMissing,
        IdToken => IdToken(IdTokenError::InvalidFormat),
        RefreshInit => RefreshInit(RefreshInitError::MissingField("client-id")),
        Refresh => Refresh(RefreshError::RequestFailed(http::StatusCode::BAD_GATEWAY)),
    });
    every!(list, IdTokenError {
        InvalidFormat => InvalidFormat,
        InvalidBase64 => InvalidBase64(bad_base64()),
        InvalidJson => InvalidJson(bad_json()),
        InvalidExpirationTimestamp => InvalidExpirationTimestamp(bad_time()),
    });
    every!(list, RefreshInitError {
        MissingField => MissingField("client-id"),
        CreateOpensslHttpsConnector => CreateOpensslHttpsConnector(bad_openssl()),
        NoValidNativeRootCA => NoValidNativeRootCA,
    });
    every!(list, RefreshError {
        InvalidURI => InvalidURI(bad_uri()),
        HyperError => HyperError(closed().await),
        HyperUtilError => HyperUtilError(unreachable().await),
        RequestFailed => RequestFailed(http::StatusCode::BAD_GATEWAY),
        AuthorizationFailure => AuthorizationFailure,
        InvalidMetadata => InvalidMetadata(bad_json()),
        HttpError => HttpError(bad_request()),
        InvalidTokenResponse => InvalidTokenResponse(bad_json()),
        NoIdTokenReceived => NoIdTokenReceived,
    });
    every!(list, OAuthError {
        NoDefaultProvider => NoDefaultProvider,
        InvalidDefaultProviderConfig => InvalidDefaultProviderConfig(TameError::InvalidKeyFormat),
        InvalidKeyFormat => InvalidKeyFormat(TameError::InvalidKeyFormat),
        InvalidRsaKey => InvalidRsaKey(TameError::InvalidKeyFormat),
        LoadCredentials => LoadCredentials(not_found()),
        ParseCredentials => ParseCredentials(bad_json()),
        BuildRequest => BuildRequest(bad_request()),
        RequestToken => RequestToken(unreachable().await),
        ConcatBuffers => ConcatBuffers(closed().await),
        RetrieveCredentials => RetrieveCredentials(TameError::HttpStatus(http::StatusCode::FORBIDDEN)),
        ParseToken => ParseToken(bad_json()),
        NoValidNativeRootCA => NoValidNativeRootCA(not_found()),
        CreateOpensslHttpsConnector => CreateOpensslHttpsConnector(bad_openssl()),
        Unknown => Unknown("odd".into()),
    });
    insta::assert_snapshot!(list.0);
}
