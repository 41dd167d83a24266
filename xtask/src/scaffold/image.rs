//! What a Dockerfile copies is all that Cargo needs.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::project::Scaffold;

pub(super) fn image(scaffold: &Scaffold<'_>) -> Result<()> {
    println!("--- the image");
    let checkout = scaffold.folder.join("kube");
    std::os::unix::fs::symlink(&scaffold.cx.root, &checkout)?;
    let project =
        scaffold.create("site", "--cluster --version v1alpha1 --group sites.example.com --path kube")?;
    let image = scaffold.folder.join("image");
    let dockerfile = std::fs::read_to_string(project.folder.join("Dockerfile"))?;
    let copies = dockerfile.lines().filter_map(|line| line.strip_prefix("COPY --from=kube "));
    let copies = copies.map(serde_json::from_str::<[String; 2]>).collect::<Result<Vec<_>, _>>()?;
    ensure!(copies.len() == 3, "expected three folders and files: {copies:?}");
    for [from, to] in copies {
        let to = image.join(to.trim_start_matches('/'));
        std::fs::create_dir_all(to.parent().context("a folder")?)?;
        if checkout.join(&from).is_file() {
            std::fs::create_dir_all(&to)?;
        }
        scaffold.cx.command("cp").arg("-r").arg(checkout.join(&from)).arg(&to).run()?;
    }
    let inside = image.join("src/site");
    std::fs::create_dir_all(inside.parent().context("a folder")?)?;
    scaffold.cx.command("cp").arg("-r").arg(&project.folder).arg(&inside).run()?;
    let metadata = scaffold.command(&inside, "cargo").args(["metadata", "--quiet", "--format-version=1"]);
    let metadata: Value = serde_json::from_str(&metadata.read()?)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let kube = packages.iter().find(|package| package["name"] == "kube").context("no kube")?;
    let path = kube["manifest_path"].as_str().unwrap_or_default();
    ensure!(path.contains("image/src/kube/crates/kube"), "kube is at {path}");
    println!("the image has kube at {path}");
    Ok(())
}
