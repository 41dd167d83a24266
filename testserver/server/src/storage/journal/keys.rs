//! The keys of a data directory, which outlive a restart: tokens, certificates and kubeconfigs stay valid.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use rcgen::KeyPair;
use serde::{Deserialize, Serialize};

use super::{DataError, file::replace_private};

/// The key files, readable by their owner only: `sa.key` signs service account tokens, `ca.crt` and `ca.key` are the CA, `users.json` has
/// the credentials that were issued to users.
#[derive(Clone, Debug)]
pub(crate) struct KeyFiles {
    dir: PathBuf,
}

/// A CA in PEM.
#[derive(Clone)]
pub(crate) struct CertificateAuthority {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// The credential issued to a user: a token, or a certificate with its key in PEM.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct IssuedCredential {
    pub(crate) user: String,
    pub(crate) groups: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
}

impl KeyFiles {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { dir: dir.into() }
    }

    /// The key of service account tokens in PEM, generated at the first call.
    pub(crate) fn token_key(&self) -> Result<String, DataError> {
        if let Some(key) = self.read("sa.key")? {
            return Ok(key);
        }
        let key = KeyPair::generate().map_err(|why| self.damaged("sa.key", why))?.serialize_pem();
        self.write("sa.key", &key)?;
        Ok(key)
    }

    /// The CA; `None` before [`store_ca`](Self::store_ca).
    pub(crate) fn ca(&self) -> Result<Option<CertificateAuthority>, DataError> {
        let files = (self.read("ca.crt")?, self.read("ca.key")?);
        Ok(match files {
            (Some(certificate), Some(key)) => Some(CertificateAuthority { certificate, key }),
            _ => None,
        })
    }

    pub(crate) fn store_ca(&self, ca: &CertificateAuthority) -> Result<(), DataError> {
        self.write("ca.key", &ca.key)?;
        self.write("ca.crt", &ca.certificate)
    }

    pub(crate) fn credentials(&self) -> Result<Vec<IssuedCredential>, DataError> {
        let Some(text) = self.read("users.json")? else { return Ok(Vec::new()) };
        serde_json::from_str(&text).map_err(|why| self.damaged("users.json", why))
    }

    pub(crate) fn store_credentials(&self, issued: &[IssuedCredential]) -> Result<(), DataError> {
        let text = serde_json::to_string_pretty(issued).expect("invariant: texts can be written");
        self.write("users.json", &text)
    }

    /// The error of a file whose content cannot be used.
    pub(crate) fn damaged(&self, name: &str, why: impl std::fmt::Display) -> DataError {
        DataError::Key { path: self.dir.join(name), why: why.to_string() }
    }

    fn read(&self, name: &str) -> Result<Option<String>, DataError> {
        let path = self.dir.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(DataError::Io { path, source }),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), DataError> {
        let written = replace_private(&self.dir, name, |out| out.write_all(text.as_bytes()));
        written.map_err(|source| DataError::Io { path: self.dir.join(name), source })
    }
}
