//! Measurements with another allocator than that of the platform.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The folders of libraries on Debian, Fedora and Alpine.
const FOLDERS: [&str; 5] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];

/// Fails if this process was started with a preloaded library and does not use it: the dynamic linker only warns, and a static program has
/// none.
pub(crate) fn check_preloaded() -> anyhow::Result<()> {
    let Some(library) = std::env::var_os("LD_PRELOAD").filter(|library| !library.is_empty()) else {
        return Ok(());
    };
    let library = library.to_string_lossy();
    let loaded = std::fs::read_to_string("/proc/self/maps")?;
    let name = Path::new(&*library).file_name().map_or(&*library, |name| name.to_str().unwrap_or(&library));
    anyhow::ensure!(loaded.contains(name), "{library} is preloaded, but this program does not use it");
    Ok(())
}

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
