//! Text, files and `KUBECONFIG` to a [`Kubeconfig`].

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::de::Error as _;

use super::Kubeconfig;
use super::paths::resolve_relative_paths;
use crate::config::KubeconfigError;
use crate::config::secrets::without_quoted_value;

impl Kubeconfig {
    /// Parses YAML or JSON text. Several documents in it are merged as several files would be.
    ///
    /// Relative paths stay as they are: they have no folder to stand in.
    ///
    /// ```
    /// use kube_client::config::Kubeconfig;
    ///
    /// let kubeconfig = Kubeconfig::from_yaml("current-context: dev\ncontexts: [{name: dev, context: {cluster: here}}]")?;
    /// assert_eq!(kubeconfig.current_context.as_deref(), Some("dev"));
    /// let odd = Kubeconfig::from_yaml("contexts: {}").unwrap_err();
    /// assert!(odd.to_string().contains("not a kubeconfig"));
    /// # Ok::<(), kube_client::config::KubeconfigError>(())
    /// ```
    ///
    /// # Errors
    /// [`KubeconfigError::Parse`] if the text is no kubeconfig, or has two clusters, users or contexts of one name: which of them is meant
    /// is not to be guessed, and kubectl refuses it too. Text that is nested or repeats itself through aliases beyond
    /// all reason is refused instead of eating memory.
    pub fn from_yaml(text: &str) -> Result<Kubeconfig, KubeconfigError> {
        let documents: Vec<Kubeconfig> = serde_saphyr::from_multiple_with_options(text, limits())
            .map_err(|err| KubeconfigError::Parse(Box::new(without_quoted_value(err))))?;
        documents.iter().try_for_each(refuse_twins)?;
        merge_all(documents).map(Option::unwrap_or_default)
    }

    /// Reads one file. Relative paths in it are resolved against its folder.
    ///
    /// # Errors
    /// [`KubeconfigError::ReadConfig`] or [`KubeconfigError::Parse`], each naming the file.
    pub fn read_from<P: AsRef<Path>>(path: P) -> Result<Kubeconfig, KubeconfigError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|err| KubeconfigError::ReadConfig(err, path.to_owned()))?;
        let text = decode_text(&bytes).map_err(|err| KubeconfigError::ReadConfig(err, path.to_owned()))?;
        let mut config = Self::from_yaml(&text).map_err(|err| name_file(err, path))?;
        resolve_relative_paths(&mut config, path.parent().unwrap_or(Path::new("")));
        Ok(config)
    }

    /// Reads the files listed in `KUBECONFIG` (separated as in `PATH`) and merges them: of each name the first one wins,
    /// and of the current contexts too. Files that are not there are passed over, as kubectl does.
    ///
    /// `None` if the variable is unset or empty.
    ///
    /// # Errors
    /// As [`Kubeconfig::read_from`]; also if none of the listed files exists.
    pub fn from_env() -> Result<Option<Self>, KubeconfigError> {
        match std::env::var_os("KUBECONFIG") {
            Some(list) => merge_all(files_in(&list)?.into_iter().map(|(_, config)| config)),
            None => Ok(None),
        }
    }

    /// Reads what `KUBECONFIG` names, or else `~/.kube/config`.
    ///
    /// # Errors
    /// As [`Kubeconfig::read_from`], and [`KubeconfigError::FindPath`] without a home directory.
    pub fn read() -> Result<Kubeconfig, KubeconfigError> {
        Ok(merge_all(read_files()?.into_iter().map(|(_, config)| config))?.unwrap_or_default())
    }
}

/// The files that [`Kubeconfig::read`] merges, at least one.
pub(in crate::config) fn read_files() -> Result<Vec<(PathBuf, Kubeconfig)>, KubeconfigError> {
    let listed = std::env::var_os("KUBECONFIG").map(|list| files_in(&list)).transpose()?.unwrap_or_default();
    if !listed.is_empty() {
        return Ok(listed);
    }
    let path = default_path()?;
    Ok(vec![(path.clone(), Kubeconfig::read_from(path)?)])
}

/// The files of a list that are there. That none of them is there is an error; an empty list is not.
fn files_in(list: &OsStr) -> Result<Vec<(PathBuf, Kubeconfig)>, KubeconfigError> {
    let mut found = Vec::new();
    let mut absent = None;
    for path in std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()) {
        match Kubeconfig::read_from(&path) {
            Ok(config) => found.push((path, config)),
            Err(KubeconfigError::ReadConfig(err, path)) if err.kind() == std::io::ErrorKind::NotFound => {
                absent.get_or_insert(KubeconfigError::ReadConfig(err, path));
            }
            Err(err) => return Err(err),
        }
    }
    match absent {
        Some(err) if found.is_empty() => Err(err),
        _ => Ok(found),
    }
}

fn default_path() -> Result<PathBuf, KubeconfigError> {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    Ok(home.ok_or(KubeconfigError::FindPath)?.join(".kube").join("config"))
}

pub(in crate::config) fn merge_all(
    documents: impl IntoIterator<Item = Kubeconfig>,
) -> Result<Option<Kubeconfig>, KubeconfigError> {
    let mut documents = documents.into_iter();
    let Some(first) = documents.next() else { return Ok(None) };
    documents.try_fold(first, Kubeconfig::merge).map(Some)
}

/// Between several files the first of a name wins; within one, it is a mistake.
fn refuse_twins(config: &Kubeconfig) -> Result<(), KubeconfigError> {
    let clusters: Vec<_> = config.clusters.iter().map(|named| named.name.as_str()).collect();
    let users: Vec<_> = config.auth_infos.iter().map(|named| named.name.as_str()).collect();
    let contexts: Vec<_> = config.contexts.iter().map(|named| named.name.as_str()).collect();
    for (what, names) in [("clusters", clusters), ("users", users), ("contexts", contexts)] {
        let mut known = HashSet::new();
        if let Some(twin) = names.into_iter().find(|name| !known.insert(*name)) {
            let told = format!("`{what}` has the name {twin:?} twice: expected each name once");
            return Err(KubeconfigError::Parse(Box::new(serde_saphyr::Error::custom(told))));
        }
    }
    Ok(())
}

/// A kubeconfig has a handful of levels and rarely an alias: anything far beyond is an attack or an accident.
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
        // The excerpt around an error may hold a token.
        with_snippet: false,
    }
}

/// Windows tools write UTF-16 with a byte order mark; everything else is UTF-8.
fn decode_text(bytes: &[u8]) -> std::io::Result<String> {
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

/// The error for text has no room for a path, so the path goes into its message.
fn name_file(err: KubeconfigError, path: &Path) -> KubeconfigError {
    match err {
        KubeconfigError::Parse(cause) => {
            let named = serde_saphyr::Error::custom(format!("{}: {cause}", path.display()));
            KubeconfigError::Parse(Box::new(named))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
