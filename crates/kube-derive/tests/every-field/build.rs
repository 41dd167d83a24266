//! Writes a test of every struct of k8s-openapi, from its source: `apply!` with all fields, and the names on the wire from `Deserialize`.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path, process::Command};

use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let version =
        std::env::vars().find(|(name, _)| name.starts_with("DEP_K8S_OPENAPI_")).ok_or("no k8s-openapi")?.1;
    let folder = format!("v1_{}", version.parse::<u32>()? >> 8 & 0xff);
    let source = source()?.join("src").join(folder);
    let mut structs = BTreeMap::new();
    read(&source, "k8s_openapi", &mut structs)?;
    let mut text = String::new();
    let mut table = String::new();
    for (number, (path, fields)) in structs.iter().enumerate() {
        write!(text, "fn struct_{number}() {{\n    let written = apply!({path} {{\n")?;
        let mut expected = String::new();
        for (index, field) in fields.iter().enumerate() {
            let (value, json) = value(field, index, &structs);
            writeln!(text, "        {}: {value},", field.name)?;
            write!(expected, "({:?}, {json}), ", field.wire)?;
        }
        write!(text, "    }});\n    check({path:?}, &written, &[{expected}]);\n}}\n")?;
        writeln!(table, "    (struct_{number}, {}),", fields.len())?;
    }
    writeln!(
        text,
        "/// A test of each struct, and the number of its fields.\nconst STRUCTS: &[(fn(), usize)] = &[\n{table}];"
    )?;
    fs::write(Path::new(&std::env::var("OUT_DIR")?).join("structs.rs"), text)?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=K8S_OPENAPI_ENABLED_VERSION");
    Ok(())
}

/// The folder of the package k8s-openapi.
fn source() -> Result<std::path::PathBuf> {
    let manifest = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("Cargo.toml");
    let mut cargo = Command::new(std::env::var("CARGO")?);
    cargo.args(["metadata", "--format-version", "1", "--offline", "--manifest-path"]).arg(manifest);
    // A build has downloaded the packages of its platform only.
    cargo.args(["--filter-platform", &std::env::var("TARGET")?]);
    let output = cargo.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let package = packages.iter().find(|package| package["name"] == "k8s-openapi").ok_or("no k8s-openapi")?;
    let manifest = package["manifest_path"].as_str().ok_or("no path")?;
    Ok(Path::new(manifest).parent().ok_or("no folder")?.to_owned())
}

struct Field {
    name: String,
    /// Without `Option`.
    ty: String,
    wire: String,
}

/// The structs of a module by their paths.
fn read(folder: &Path, module: &str, structs: &mut BTreeMap<String, Vec<Field>>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or("a name is no UTF-8")?;
        if path.is_dir() {
            read(&path, &format!("{module}::{name}"), structs)?;
        } else if name != "mod" {
            let text = fs::read_to_string(&path)?;
            if let Some((name, fields)) = read_struct(&text).filter(|_| text.contains("serde::Serialize for"))
            {
                structs.insert(format!("{module}::{name}"), fields);
            }
        }
    }
    Ok(())
}

/// The name and the fields of the struct of a file. `None` if it is an enum, a tuple or generic.
fn read_struct(text: &str) -> Option<(&str, Vec<Field>)> {
    let (_, rest) = text.split_once("\npub struct ")?;
    let (name, rest) = rest.split_once(" {")?;
    if !name.chars().all(char::is_alphanumeric) {
        return None;
    }
    let (body, rest) = rest.split_once("\n}")?;
    let wire = |field: &str| {
        let (before, _) = rest.split_once(&format!("\" => Field::Key_{field},"))?;
        Some(before.rsplit_once('"')?.1.to_owned())
    };
    let fields =
        body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.strip_suffix(',')?.split_once(": "));
    let fields = fields.map(|(name, ty)| {
        let ty = ty.strip_prefix("Option<").and_then(|ty| ty.strip_suffix('>')).unwrap_or(ty);
        let wire = wire(name).unwrap_or_else(|| panic!("{name} is not read"));
        Field { name: name.to_owned(), ty: ty.replace("crate::", "k8s_openapi::"), wire }
    });
    Some((name, fields.collect()))
}

/// A value for a field in `apply!`, and an expression of its JSON: `None` if it is a whole object.
fn value(field: &Field, index: usize, structs: &BTreeMap<String, Vec<Field>>) -> (String, String) {
    let Field { ty, wire, .. } = field;
    let known = |value: String| (value.clone(), format!("Some(serde_json::json!({value}))"));
    match ty.as_str() {
        "String" | "std::string::String" => known(format!("{wire:?}")),
        "i32" | "i64" => known(format!("{index}")),
        "f64" => known(format!("{index}.5")),
        "bool" => known("true".to_owned()),
        _ if ty.starts_with("Vec<") || ty.starts_with("std::vec::Vec<") => known("[]".to_owned()),
        _ if ty.contains("BTreeMap<") => known("{}".to_owned()),
        _ if ty.starts_with("std::boxed::Box<") || structs.contains_key(ty) => {
            ("{}".to_owned(), "None".to_owned())
        }
        _ if ty.ends_with("Time") => {
            ("k8s_openapi::jiff::Timestamp::UNIX_EPOCH".to_owned(), "None".to_owned())
        }
        _ if ty.ends_with("PropsOrBool") => {
            (format!("{ty}::Bool(true)"), "Some(serde_json::json!(true))".to_owned())
        }
        _ if ty.ends_with("PropsOrArray") => {
            (format!("{ty}::Schemas(Vec::new())"), "Some(serde_json::json!([]))".to_owned())
        }
        _ if ty.ends_with("OrStringArray") => {
            (format!("{ty}::Strings(Vec::new())"), "Some(serde_json::json!([]))".to_owned())
        }
        _ => (format!("<{ty}>::default()"), "None".to_owned()),
    }
}
