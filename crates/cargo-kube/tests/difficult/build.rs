//! Generates the types as a program would, in both layouts, and a table of all kinds for the tests.

use std::error::Error;
use std::path::{Path, PathBuf};

use cargo_kube::types::{Definitions, Generator, Split};
use quote::quote;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=crds");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("Cargo sets OUT_DIR")?);
    let definitions = Definitions::read("crds")?;
    generate(&definitions, Split::Kind, &out.join("by_kind"))?;
    generate(&definitions, Split::Group, &out.join("by_group"))
}

fn generate(definitions: &Definitions, split: Split, target: &Path) -> Result<(), Box<dyn Error>> {
    let files = Generator::new().split(split).generate(definitions)?;
    files.write(target)?;
    let mut kinds = Vec::new();
    for kind in files.kinds() {
        let (crd, version, path) = (&kind.crd, &kind.version, syn::parse_str::<syn::Path>(&kind.path)?);
        // The module of the kind has the definition with all versions.
        let module: Vec<_> = path.segments.iter().take(2).collect();
        kinds.push(quote! {
            crate::Kind {
                crd: #crd,
                version: #version,
                all_versions: #(#module)::*::crd,
                one_version: <#path as kube::CustomResourceExt>::crd,
                round_trip: crate::round_trip::<#path>,
            }
        });
    }
    let table = quote!(pub const KINDS: &[crate::Kind] = &[#(#kinds),*];);
    std::fs::write(target.join("table.rs"), table.to_string())?;
    Ok(())
}
