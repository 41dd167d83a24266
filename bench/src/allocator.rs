//! Measurements with another allocator than that of the platform.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The folders of libraries on Debian, Fedora and Alpine.
const FOLDERS: [&str; 5] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];

/// The file that `LD_PRELOAD` names, so that both libraries allocate by jemalloc.
pub(crate) fn jemalloc() -> anyhow::Result<PathBuf> {
    let files = FOLDERS.map(|folder| Path::new(folder).join("libjemalloc.so.2"));
    files.into_iter().find(|file| file.exists()).with_context(|| {
        format!(
            "no libjemalloc.so.2 in {}: install it (Debian: apt-get install libjemalloc2)",
            FOLDERS.join(", ")
        )
    })
}
