//! Writes new settings of a user's auth provider back to the kubeconfig that the user came from.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;

use super::{Kubeconfig, UserOrigin};
use crate::new_file::NewFile;

impl UserOrigin {
    /// The settings of the user's auth provider as they are in the file now. Blocks.
    pub(crate) fn provider_settings(&self) -> io::Result<HashMap<String, String>> {
        let (_, mut kubeconfig) = self.read()?;
        self.settings_in(&mut kubeconfig).map(std::mem::take)
    }

    /// Changes these settings of the user's auth provider in the file, and nothing else. Blocks.
    ///
    /// As kubectl does it: under the lock `FILE.lock`, which is an error while another program has it; comments are lost. The file is
    /// replaced as a whole, so no reader sees half of it.
    pub(crate) fn save_provider_settings(&self, changed: &[(&str, &str)]) -> io::Result<()> {
        let _lock = Lock::new(&self.path)?;
        let (file, mut kubeconfig) = self.read()?;
        let settings = self.settings_in(&mut kubeconfig)?;
        settings.extend(changed.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        let text = serde_saphyr::to_string(&kubeconfig).map_err(io::Error::other)?;
        let reread = Kubeconfig::from_yaml(&text).map_err(io::Error::other)?;
        if serde_json::to_value(&reread)? != serde_json::to_value(&kubeconfig)? {
            return Err(invalid("it cannot be written without changing it"));
        }
        NewFile::write(&file, text.as_bytes())?.rename()
    }

    /// The file, with links resolved, and its content. Relative paths in it stay relative.
    fn read(&self) -> io::Result<(PathBuf, Kubeconfig)> {
        let file = fs::canonicalize(&self.path)?;
        let text = fs::read_to_string(&file)?;
        let documents = serde_saphyr::read::<_, IgnoredAny>(&mut text.as_bytes()).take(2).count();
        if documents != 1 {
            return Err(invalid("it has several documents"));
        }
        Ok((file, Kubeconfig::from_yaml(&text).map_err(io::Error::other)?))
    }

    fn settings_in<'a>(&self, kubeconfig: &'a mut Kubeconfig) -> io::Result<&'a mut HashMap<String, String>> {
        let user = kubeconfig.auth_infos.iter_mut().find(|named| named.name == self.user);
        let provider = user.and_then(|named| named.auth_info.as_mut()?.auth_provider.as_mut());
        Ok(&mut provider.ok_or_else(|| invalid("it has no such user with an auth-provider"))?.config)
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The lock of client-go: a file that exists.
struct Lock(PathBuf);

impl Lock {
    fn new(path: &Path) -> io::Result<Self> {
        let path = with_suffix(path, ".lock");
        OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
apiVersion: v1
kind: Config
extra: {5: x}
clusters: [{name: c, cluster: {certificate-authority: ca.crt, server: "https://h"}}]
users:
- name: jane
  user:
    as-groups: ["0123", "yes"]
    auth-provider: {name: oidc, config: {client-id: me, id-token: old, refresh-token: one}, more: [1]}
- name: joe
  user: {auth-provider: {name: oidc, config: {refresh-token: one}}, token: "1.50"}
"#;

    fn origin(folder: &tempfile::TempDir, user: &str) -> UserOrigin {
        UserOrigin { path: folder.path().join("config"), user: user.to_owned() }
    }

    #[test]
    fn only_the_settings_of_the_user_change() {
        let folder = tempfile::tempdir().unwrap();
        let jane = origin(&folder, "jane");
        fs::write(&jane.path, TEXT).unwrap();
        #[cfg(unix)]
        fs::set_permissions(&jane.path, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
        jane.save_provider_settings(&[("id-token", "new"), ("refresh-token", "t: w'o\"")]).unwrap();
        assert_eq!(jane.provider_settings().unwrap()["refresh-token"], "t: w'o\"");
        assert_eq!(origin(&folder, "joe").provider_settings().unwrap()["refresh-token"], "one");
        let expected = TEXT.replace("id-token: old", "id-token: new").replacen("one", "\"t: w'o\\\"\"", 1);
        let value = |text: &str| serde_json::to_value(Kubeconfig::from_yaml(text).unwrap()).unwrap();
        assert_eq!(value(&fs::read_to_string(&jane.path).unwrap()), value(&expected));
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["config"], "neither the lock nor the new file is left");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&jane.path).unwrap().permissions().mode() & 0o777, 0o640);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let jane = origin(&folder, "jane");
        fs::write(folder.path().join("target"), TEXT).unwrap();
        std::os::unix::fs::symlink("target", &jane.path).unwrap();
        jane.save_provider_settings(&[("id-token", "new")]).unwrap();
        assert!(fs::symlink_metadata(&jane.path).unwrap().is_symlink());
        assert!(fs::read_to_string(folder.path().join("target")).unwrap().contains("new"));
    }

    #[test]
    fn a_file_that_cannot_be_changed_safely_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let jane = origin(&folder, "jane");
        let unchanged = |text: &str| {
            fs::write(&jane.path, text).unwrap();
            let err = jane.save_provider_settings(&[("id-token", "new")]).unwrap_err();
            assert_eq!(fs::read_to_string(&jane.path).unwrap(), text);
            err
        };
        unchanged("users: [");
        unchanged("users: [{name: jane, user: {token: t}}]");
        unchanged(&format!("{TEXT}---\nusers: []\n"));
        let lock = folder.path().join("config.lock");
        fs::write(&lock, "").unwrap();
        assert_eq!(unchanged(TEXT).kind(), io::ErrorKind::AlreadyExists);
        assert!(lock.exists(), "it is another program's");
    }
}
