//! The part of a kubeconfig that the suite needs: server, CA, client certificate or token of a context.

use std::path::{Path, PathBuf};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;

/// A parsed kubeconfig and the directory of its relative paths.
#[derive(Debug)]
pub(crate) struct Kubeconfig {
    file: File,
    dir: PathBuf,
}

/// Address and credentials of a server; everything in PEM.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) server: String,
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
    pub(crate) token: Option<String>,
}

#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    users: Vec<NamedUser>,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default, rename = "current-context")]
    current_context: String,
}

#[derive(Debug, Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority: Option<String>,
    certificate_authority_data: Option<String>,
}

#[derive(Debug, Deserialize)]
struct NamedUser {
    name: String,
    #[serde(default)]
    user: User,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct User {
    client_certificate: Option<String>,
    client_certificate_data: Option<String>,
    client_key: Option<String>,
    client_key_data: Option<String>,
    token: Option<String>,
}

#[derive(Debug, Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Debug, Deserialize)]
struct Context {
    cluster: String,
    user: Option<String>,
}

impl Kubeconfig {
    /// Reads the file; the error names the file and the problem.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text =
            std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let file = serde_saphyr::from_str(&text)
            .map_err(|e| format!("{} is not a kubeconfig: {e}", path.display()))?;
        Ok(Self { file, dir: path.parent().unwrap_or(Path::new(".")).to_owned() })
    }

    pub(crate) fn has_context(&self, name: &str) -> bool {
        self.file.contexts.iter().any(|c| c.name == name)
    }

    /// The endpoint of a context, or of the current one.
    pub(crate) fn endpoint(&self, context: Option<&str>) -> Result<Endpoint, String> {
        let name = context.unwrap_or(&self.file.current_context);
        let context = &self
            .file
            .contexts
            .iter()
            .find(|c| c.name == name)
            .ok_or(format!("no context {name:?}"))?
            .context;
        let wanted = &context.cluster;
        let cluster = &self
            .file
            .clusters
            .iter()
            .find(|c| c.name == *wanted)
            .ok_or(format!("no cluster {wanted:?}"))?
            .cluster;
        let none = User::default();
        let user = match &context.user {
            Some(u) => &self.file.users.iter().find(|x| x.name == *u).ok_or(format!("no user {u:?}"))?.user,
            None => &none,
        };
        let cert = self.pem("client-certificate", &user.client_certificate_data, &user.client_certificate)?;
        let key = self.pem("client-key", &user.client_key_data, &user.client_key)?;
        Ok(Endpoint {
            server: cluster.server.trim_end_matches('/').to_owned(),
            ca: self.pem(
                "certificate-authority",
                &cluster.certificate_authority_data,
                &cluster.certificate_authority,
            )?,
            identity: cert.zip(key),
            token: user.token.clone(),
        })
    }

    /// The bytes of a `...-data` field, or of the file in its counterpart.
    fn pem(
        &self,
        what: &str,
        data: &Option<String>,
        file: &Option<String>,
    ) -> Result<Option<Vec<u8>>, String> {
        if let Some(data) = data {
            let bytes =
                BASE64_STANDARD.decode(data.trim()).map_err(|e| format!("{what}-data is not base64: {e}"))?;
            return Ok(Some(bytes));
        }
        let Some(file) = file else { return Ok(None) };
        let path = self.dir.join(file);
        std::fs::read(&path).map(Some).map_err(|e| format!("{what}: cannot read {}: {e}", path.display()))
    }
}
