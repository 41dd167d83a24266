//! Relative paths in a kubeconfig mean: relative to the folder that the file stands in.

use std::path::{Path, PathBuf};

use super::Kubeconfig;

/// Makes every path in `config` stand on its own, given the folder of the file it came from.
pub(super) fn resolve_relative_paths(config: &mut Kubeconfig, folder: &Path) {
    for cluster in config.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        resolve(&mut cluster.certificate_authority, folder);
    }
    for user in config.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        resolve(&mut user.client_certificate, folder);
        resolve(&mut user.client_key, folder);
        resolve(&mut user.token_file, folder);
        if let Some(exec) = &mut user.exec {
            // A bare name is looked up in PATH, so only what looks like a path is one.
            if exec.command.as_deref().is_some_and(|command| Path::new(command).components().count() > 1) {
                resolve(&mut exec.command, folder);
            }
        }
    }
}

fn resolve(path: &mut Option<String>, folder: &Path) {
    let Some(text) = path.as_mut().filter(|text| !text.is_empty()) else { return };
    if Path::new(text.as_str()).is_relative() {
        let joined: PathBuf = folder.join(&*text);
        // A folder that is no text cannot be written into a kubeconfig; the path then stays as it was.
        if let Some(joined) = joined.to_str() {
            *text = joined.to_owned();
        }
    }
}
