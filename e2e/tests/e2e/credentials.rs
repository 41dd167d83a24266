//! Who we are to the server: by certificate, by token, on behalf of others, and not at all.

use anyhow::Context as _;
use futures::FutureExt as _;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use kube_testserver::{TestServer, User};
use serde_json::json;

use crate::world::{Need, World, answer, run, skip, unique};

/// A server where the users of the genuine servers' kubeconfigs are known.
struct Known {
    kubeconfig: Kubeconfig,
    /// A namespace to work in.
    namespace: String,
    /// The embedded server of these users, while it is needed.
    server: Option<TestServer>,
}

impl Known {
    /// `None` for a cluster whose kubeconfig has other users.
    async fn of(world: &World) -> anyhow::Result<Option<Self>> {
        if world.server.is_some() {
            let server = guarded().await?;
            let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig())?;
            return Ok(Some(Self { kubeconfig, namespace: "default".into(), server: Some(server) }));
        }
        let kubeconfig = Kubeconfig::read()?;
        if !kubeconfig.contexts.iter().any(|context| context.name == "token-nobody") {
            skip("the kubeconfig has no contexts admin, viewer, token-admin, token-viewer, token-nobody")?;
            return Ok(None);
        }
        Ok(Some(Self { kubeconfig, namespace: world.namespace.clone(), server: None }))
    }

    async fn config(&self, context: &str) -> anyhow::Result<Config> {
        let embedded_admin = context == "admin" && self.server.is_some();
        let context = if embedded_admin { "testserver" } else { context };
        let options = KubeConfigOptions { context: Some(context.into()), ..KubeConfigOptions::default() };
        Ok(Config::from_custom_kubeconfig(self.kubeconfig.clone(), &options).await?)
    }
}

async fn guarded() -> anyhow::Result<TestServer> {
    let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]);
    let api_version = "rbac.authorization.k8s.io/v1";
    let role = json!({"apiVersion": api_version, "kind": "ClusterRole", "metadata": {"name": "read-all"}, "rules": rules});
    let binding = json!({"apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": {"name": "viewers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "read-all"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "viewers"}]});
    let builder = TestServer::builder()
        .tls()
        .with_user(User::new("viewer").group("viewers"))
        .with_user(User::new("token-admin").group("system:masters").token("admin-token"))
        .with_user(User::new("token-viewer").group("viewers").token("viewer-token"))
        .with_user(User::new("token-nobody").group("nobodies").token("nobody-token"))
        .with_objects([role, binding]);
    Ok(builder.start().await?)
}

type Crds = Api<CustomResourceDefinition>;

async fn list(client: &Client) -> kube::Result<()> {
    Crds::all(client.clone()).list(&ListParams::default().limit(1)).await.map(drop)
}

/// There is no such CRD, so only who may not delete is told so.
async fn delete(client: &Client) -> anyhow::Result<kube::core::Status> {
    let name = "nothing.credentials.example.com";
    answer(Crds::all(client.clone()).delete(name, &DeleteParams::default()).await)
}

/// An error and all that led to it.
fn told(err: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(err.source(), |err| err.source()).map(ToString::to_string);
    std::iter::once(err.to_string()).chain(causes).collect::<Vec<_>>().join(": ")
}

#[test]
fn certificates_and_tokens_say_who_we_are() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let Some(known) = Known::of(world).await? else { return Ok(()) };
            for (context, code) in
                [("admin", 404), ("token-admin", 404), ("viewer", 403), ("token-viewer", 403)]
            {
                let client = Client::try_from(known.config(context).await?)?;
                list(&client).await.with_context(|| context.to_owned())?;
                let status = delete(&client).await?;
                assert_eq!(status.code, code, "{context}: {status:?}");
                if code == 403 {
                    assert_eq!(status.reason, "Forbidden");
                    assert!(status.message.contains(&format!("User \"{context}\"")), "{}", status.message);
                }
            }
            let nobody = Client::try_from(known.config("token-nobody").await?)?;
            assert_eq!(answer(list(&nobody).await)?.code, 403);
            let mut unknown = known.config("token-nobody").await?;
            unknown.auth_info.token = Some("no-such-token".to_owned().into());
            let status = answer(list(&Client::try_from(unknown)?).await)?;
            assert_eq!((status.code, status.reason.as_str()), (401, "Unauthorized"));
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_wrong_authority_is_named_as_the_reason() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let Some(known) = Known::of(world).await? else { return Ok(()) };
            let mut config = known.config("admin").await?;
            let right = config.root_cert.take().context("the kubeconfig has an authority")?;
            // Without any, the public ones count, which have not signed a test server.
            let mut outcomes = vec![list(&Client::try_from(config.clone())?).await];
            config.root_cert = Some(right);
            config.tls_server_name = Some("another.example.com".into());
            outcomes.push(list(&Client::try_from(config)?).await);
            for outcome in outcomes {
                let text = told(&outcome.expect_err("the server is not to be trusted"));
                assert!(
                    text.contains("cannot connect to 127.0.0.1") && text.contains("certificate"),
                    "{text}"
                );
            }
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn an_administrator_may_act_as_others() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let Some(known) = Known::of(world).await? else { return Ok(()) };
            let mut config = known.config("admin").await?;
            config.auth_info.impersonate = Some("jane@example.com".into());
            config.auth_info.impersonate_groups = Some(vec!["ops".into(), "night shift".into()]);
            config.auth_info.impersonate_user_extra =
                Some([("example.com/team".to_owned(), vec!["blue".to_owned(), "red".to_owned()])].into());
            let status = answer(list(&Client::try_from(config.clone())?).await)?;
            assert_eq!(status.code, 403);
            assert!(status.message.contains("User \"jane@example.com\""), "{}", status.message);
            config.auth_info.impersonate_groups = Some(vec!["ops".into(), "system:masters".into()]);
            list(&Client::try_from(config.clone())?).await?;
            let mut refused = known.config("token-viewer").await?;
            refused.auth_info.impersonate = Some("admin".into());
            assert_eq!(answer(list(&Client::try_from(refused)?).await)?.code, 403);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_token_that_was_asked_for_works_from_a_file() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let Some(known) = Known::of(world).await? else { return Ok(()) };
            let admin = Client::try_from(known.config("admin").await?)?;
            let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), &known.namespace);
            let name = unique("robot");
            let account = ServiceAccount {
                metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
                ..ServiceAccount::default()
            };
            accounts.create(&PostParams::default(), &account).await?;
            let wish = TokenRequest {
                spec: Some(TokenRequestSpec { expiration_seconds: Some(600), ..TokenRequestSpec::default() }),
                ..TokenRequest::default()
            };
            let given = accounts.create_token_request(&name, &PostParams::default(), &wish).await?;
            let token = given.status.context("a token request is answered with a status")?;
            let token = token.token.context("and with a token")?;

            let folder = std::env::temp_dir().join(&name);
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join("token"), format!("{token}\n"))?;
            let mut config = known.config("token-nobody").await?;
            config.auth_info.token = None;
            config.auth_info.token_file = folder.join("token").to_str().map(str::to_owned);
            let maps: Api<ConfigMap> = Api::namespaced(Client::try_from(config)?, &known.namespace);
            let status = answer(maps.list(&ListParams::default()).await)?;
            std::fs::remove_dir_all(&folder)?;
            let user = format!("system:serviceaccount:{}:{name}", known.namespace);
            assert!(status.code == 403 && status.message.contains(&user), "{status:?}");
            accounts.delete(&name, &DeleteParams::default()).await?;
            Ok(())
        }
        .boxed()
    })
}

#[cfg(feature = "openssl")]
mod openssl {
    use super::*;
    use kube::client::{Body, ClientBuilder, ConfigExt as _};

    #[test]
    fn openssl_does_as_well() -> anyhow::Result<()> {
        run(Need::Nothing, |world| {
            async move {
                let Some(known) = Known::of(world).await? else { return Ok(()) };
                let over_openssl = |config: &Config| -> anyhow::Result<Client> {
                    let http =
                        hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
                            .build::<_, Body>(config.openssl_https_connector()?);
                    Ok(ClientBuilder::new(http, "default").with_layer(&config.base_uri_layer()).build())
                };
                let mut config = known.config("viewer").await?;
                let client = over_openssl(&config)?;
                list(&client).await?;
                assert!(delete(&client).await?.message.contains("User \"viewer\""));
                config.root_cert = None;
                let text =
                    told(&list(&over_openssl(&config)?).await.expect_err("the server is not to be trusted"));
                assert!(text.contains("certificate verify failed"), "{text}");
                Ok(())
            }
            .boxed()
        })
    }
}
