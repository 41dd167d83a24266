//! Reads a [`Kubeconfig`] from text, from files, and from the files in `KUBECONFIG`.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::de::{Error as _, IgnoredAny};

use super::Kubeconfig;
use super::merge::merge_files;
use super::named::{Named, names};
use crate::config::KubeconfigError;
use crate::config::decode::WithPath;
use crate::config::redact::without_quoted_value;

impl Kubeconfig {
    /// Parses YAML or JSON text. Several documents in it are merged like several files; of a document after the first that is not a
    /// kubeconfig, and of text after a JSON document, only a warning is logged, since kubectl reads the first document only. Of a key that
    /// occurs twice, the last value is read.
    ///
    /// Relative paths stay relative: text has no directory.
    ///
    /// ```
    /// use kube_client::config::Kubeconfig;
    ///
    /// let kubeconfig = Kubeconfig::from_yaml("current-context: dev\ncontexts: [{name: dev, context: {cluster: here}}]")?;
    /// assert_eq!(kubeconfig.current_context.as_deref(), Some("dev"));
    /// let err = Kubeconfig::from_yaml("contexts: {}").unwrap_err();
    /// assert!(err.to_string().contains("not a kubeconfig"));
    /// # Ok::<(), kube_client::config::KubeconfigError>(())
    /// ```
    ///
    /// # Errors
    /// [`KubeconfigError::Parse`] if the text is not a kubeconfig, or has two clusters, users or contexts of one name, which kubectl
    /// refuses too. Text that is nested too deeply or expands too far through aliases is refused, so that it cannot exhaust memory.
    pub fn from_yaml(text: &str) -> Result<Kubeconfig, KubeconfigError> {
        let mut bytes = without_text_after_json(text).as_bytes();
        let documents = serde_saphyr::read_with_options(&mut bytes, limits()).map(read_document);
        let mut merged: Option<Self> = None;
        for document in documents {
            let Some(merged) = &mut merged else {
                merged = Some(document?);
                continue;
            };
            let added = document.and_then(|document| {
                check_header(&document)?;
                merged.add(document)
            });
            if let Err(err) = added {
                tracing::warn!(%err, "a document after the first one in a kubeconfig is ignored");
            }
        }
        Ok(merged.unwrap_or_default())
    }

    /// Reads one file. Relative paths in it are resolved against its directory.
    ///
    /// # Errors
    /// [`KubeconfigError::ReadConfig`] or [`KubeconfigError::Parse`], each with the path of the file.
    pub fn read_from<P: AsRef<Path>>(path: P) -> Result<Kubeconfig, KubeconfigError> {
        read_file(path.as_ref())
    }

    /// Reads the files listed in `KUBECONFIG` (separated as in `PATH`) and merges them: the first entry of each name wins, and the first
    /// current context. Files that do not exist are skipped, as by kubectl.
    ///
    /// `None` if the variable is unset or empty.
    ///
    /// # Errors
    /// As [`Kubeconfig::read_from`]; also if none of the listed files exists.
    pub fn from_env() -> Result<Option<Self>, KubeconfigError> {
        let files = read_paths(&listed_paths())?;
        if files.is_empty() { Ok(None) } else { merge_files(files).map(|(merged, _)| Some(merged)) }
    }

    /// Reads the files listed in `KUBECONFIG`, or else `~/.kube/config`.
    ///
    /// # Errors
    /// As [`Kubeconfig::read_from`], and [`KubeconfigError::FindPath`] without a home directory.
    pub fn read() -> Result<Kubeconfig, KubeconfigError> {
        merge_files(read_paths(&kubeconfig_paths()?)?).map(|(merged, _)| merged)
    }
}

/// As kubectl: what follows a JSON document is not read, whatever it is. Unless it is another YAML document.
fn without_text_after_json(text: &str) -> &str {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    if !text.trim_start().starts_with('{') || !matches!(documents.next(), Some(Ok(_))) {
        return text;
    }
    let (document, rest) = text.split_at(documents.byte_offset());
    if rest.trim().is_empty() || rest.trim_start().starts_with("---") {
        return text;
    }
    tracing::warn!("the text after the JSON document in a kubeconfig is ignored");
    document
}

fn read_document(
    decoded: Result<WithPath<Kubeconfig>, serde_saphyr::Error>,
) -> Result<Kubeconfig, KubeconfigError> {
    let WithPath(document) =
        decoded.map_err(|err| KubeconfigError::Parse(Box::new(without_quoted_value(err))))?;
    refuse_duplicate_names("clusters", &document.clusters)?;
    refuse_duplicate_names("users", &document.auth_infos)?;
    refuse_duplicate_names("contexts", &document.contexts)?;
    Ok(document)
}

/// The files that [`Kubeconfig::read`] merges, at least one: those listed in `KUBECONFIG`, else `~/.kube/config`.
pub(in crate::config) fn kubeconfig_paths() -> Result<Vec<PathBuf>, KubeconfigError> {
    match listed_paths() {
        listed if listed.is_empty() => Ok(vec![default_path()?]),
        listed => Ok(listed),
    }
}

/// The files listed in `KUBECONFIG`, if it is set.
fn listed_paths() -> Vec<PathBuf> {
    std::env::var_os("KUBECONFIG").map(|list| paths_in(&list)).unwrap_or_default()
}

fn paths_in(list: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// The files that exist. It is an error if none of them exists, but not if there are none.
pub(in crate::config) fn read_paths(
    paths: &[PathBuf],
) -> Result<Vec<(PathBuf, Kubeconfig)>, KubeconfigError> {
    let mut existing = Vec::new();
    let mut first_missing = None;
    for path in paths {
        match read_file(path) {
            Ok(config) => existing.push((path.clone(), config)),
            Err(KubeconfigError::ReadConfig(err, path)) if err.kind() == std::io::ErrorKind::NotFound => {
                first_missing.get_or_insert(KubeconfigError::ReadConfig(err, path));
            }
            Err(err) => return Err(err),
        }
    }
    match first_missing {
        Some(err) if existing.is_empty() => Err(err),
        _ => Ok(existing),
    }
}

fn default_path() -> Result<PathBuf, KubeconfigError> {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    Ok(home.ok_or(KubeconfigError::FindPath)?.join(".kube").join("config"))
}

/// Blocks, but for a short time: a kubeconfig is a small local file.
fn read_file(path: &Path) -> Result<Kubeconfig, KubeconfigError> {
    let unreadable = |err| KubeconfigError::ReadConfig(err, path.to_owned());
    let text = std::fs::read(path).and_then(|bytes| decode_text(&bytes)).map_err(unreadable)?;
    let config = Kubeconfig::from_yaml(&text).and_then(|config| check_header(&config).map(|()| config));
    let mut config = config.map_err(|err| with_path(err, path))?;
    resolve_relative_paths(&mut config, path.parent().unwrap_or(Path::new("")));
    Ok(config)
}

/// Refuses another kind of document, and another version of it.
pub(super) fn check_header(config: &Kubeconfig) -> Result<(), KubeconfigError> {
    let fields = [("kind", &config.kind, "Config"), ("apiVersion", &config.api_version, "v1")];
    for (field, value, expected) in fields {
        let value = value.as_deref().unwrap_or_default();
        if !value.is_empty() && value != expected {
            let message = format!("`{field}` is {value:?}: expected {expected:?}");
            return Err(KubeconfigError::Parse(Box::new(serde_saphyr::Error::custom(message))));
        }
    }
    Ok(())
}

/// A name may occur in several files, where the first wins, but only once in a document.
fn refuse_duplicate_names<T: Named>(list: &str, entries: &[T]) -> Result<(), KubeconfigError> {
    let mut seen = HashSet::new();
    match names(entries).into_iter().find(|name| !seen.insert(*name)) {
        Some(name) => {
            let message = format!("`{list}` has the name {name:?} twice: expected each name once");
            Err(KubeconfigError::Parse(Box::new(serde_saphyr::Error::custom(message))))
        }
        None => Ok(()),
    }
}

/// Far beyond any real kubeconfig, which has a handful of levels and rarely an alias.
fn limits() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 64,
            max_nodes: 250_000,
            max_anchors: 1_000,
            max_aliases: 1_000,
            max_documents: 100,
            max_total_scalar_bytes: 32 * 1024 * 1024,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 100_000,
            max_replay_stack_depth: 16,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        // The snippet around an error may contain a token.
        with_snippet: false,
    }
}

/// The text of a file: UTF-16 if there is a byte order mark for it, which Windows tools write; else UTF-8.
///
/// ```
/// assert_eq!(kube_client::config::decode_text(b"\xFF\xFEa\0")?, "a");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// [`InvalidData`](std::io::ErrorKind::InvalidData) if it is no such text.
pub fn decode_text(bytes: &[u8]) -> std::io::Result<String> {
    let invalid = |what: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, what.to_owned());
    let utf16 = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|_| invalid("not UTF-16 text, as its byte order mark says"))
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] | rest => {
            std::str::from_utf8(rest).map(str::to_owned).map_err(|_| invalid("not UTF-8 text"))
        }
    }
}

/// Puts the path into the message of a parse error, which has no field for it.
fn with_path(err: KubeconfigError, path: &Path) -> KubeconfigError {
    match err {
        KubeconfigError::Parse(cause) => {
            let named = serde_saphyr::Error::custom(format!("{}: {cause}", path.display()));
            KubeconfigError::Parse(Box::new(named))
        }
        other => other,
    }
}

/// Resolves every relative path in `config` against the directory of its file.
fn resolve_relative_paths(config: &mut Kubeconfig, directory: &Path) {
    for cluster in config.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        resolve(&mut cluster.certificate_authority, directory);
    }
    for user in config.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        resolve(&mut user.client_certificate, directory);
        resolve(&mut user.client_key, directory);
        resolve(&mut user.token_file, directory);
        if let Some(exec) = &mut user.exec {
            // A name without a separator is looked up in PATH.
            if exec.command.as_deref().is_some_and(|command| Path::new(command).components().count() > 1) {
                resolve(&mut exec.command, directory);
            }
        }
    }
}

fn resolve(path: &mut Option<String>, directory: &Path) {
    let Some(text) = path.as_mut().filter(|text| !text.is_empty()) else { return };
    if Path::new(text.as_str()).is_relative() {
        let joined: PathBuf = directory.join(&*text);
        // A directory that is not UTF-8 cannot be written into a kubeconfig: the path stays relative.
        if let Some(joined) = joined.to_str() {
            *text = joined.to_owned();
        }
    }
}

#[cfg(test)]
mod outcomes;
#[cfg(test)]
mod tests;
