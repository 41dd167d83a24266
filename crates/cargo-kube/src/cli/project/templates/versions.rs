//! A version from the one before it: the same fields under another name, and the conversions in both directions.

use syn::spanned::Spanned as _;
use syn::{Attribute, Fields, File, Item, ItemMod, ItemStruct, LitStr, Meta, Visibility};

use super::places::range;

/// What of a version another one is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spec {
    /// The text of the module, without that of its types but the root.
    module: String,
    /// The types that both versions share.
    shared: Vec<String>,
    /// The name of the struct from which the kind is derived.
    root: String,
    fields: Vec<String>,
    has_status: bool,
}

/// Why there is no other version of it: what was expected.
pub(super) type Unsuitable = &'static str;

/// Reads `pub mod VERSION { .. }` in the file of a kind.
pub(super) fn read(text: &str, kind: &str, version: &str) -> Result<(Spec, usize), Unsuitable> {
    let file: File = syn::parse_file(text).map_err(|_| "a file that Rust can parse")?;
    let module = file.items.iter().find_map(|item| match item {
        Item::Mod(module) if module.ident == version && module.content.is_some() => Some(module),
        _ => None,
    });
    let module = module.ok_or("the module of the version, with its content")?;
    let root = root(module, kind).ok_or("a struct with #[kube(kind = ..)] of this kind and named fields")?;
    let Fields::Named(named) = &root.fields else {
        return Err("a struct with #[kube(kind = ..)] of this kind and named fields");
    };
    let fields =
        named.named.iter().filter_map(|field| field.ident.as_ref()).map(ToString::to_string).collect();
    let (mut cuts, mut shared) = (Vec::new(), Vec::new());
    for item in module.content.iter().flat_map(|(_, items)| items) {
        let (name, visibility) = match item {
            Item::Struct(item) if item.ident != root.ident => (&item.ident, &item.vis),
            Item::Enum(item) => (&item.ident, &item.vis),
            Item::Type(item) => (&item.ident, &item.vis),
            _ => continue,
        };
        if !matches!(visibility, Visibility::Public(_)) {
            return Err("types that are pub, because the new version uses them too");
        }
        shared.push(name.to_string());
        cuts.push(whole_lines(text, range(item.span())));
    }
    // Implementations belong to the types that stay.
    for item in module.content.iter().flat_map(|(_, items)| items) {
        if let Item::Impl(item) = item {
            cuts.push(whole_lines(text, range(item.span())));
        }
    }
    cuts.sort_by_key(|cut| cut.start);
    let whole = range(module.span());
    let mut copy = String::new();
    let mut at = whole.start;
    for cut in cuts {
        copy.push_str(&text[at..cut.start.max(at)]);
        at = cut.end.max(at);
    }
    copy.push_str(&text[at..whole.end]);
    let has_status = metas(&root.attrs).any(|(key, _)| key == "status");
    Ok((Spec { module: copy, shared, root: root.ident.to_string(), fields, has_status }, whole.end))
}

impl Spec {
    /// The module of the new version. None if it does not name its version as the template does.
    pub(super) fn module(&self, kind: &str, from: &str, to: &str) -> Option<String> {
        let module: ItemMod = syn::parse_str(&self.module).ok()?;
        let root = root(&module, kind)?;
        let named = metas(&root.attrs).find(|(key, _)| key == "version")?.1;
        let mut text = self.module.clone();
        text.replace_range(range(named.span()), &format!("{to:?}"));
        let name = range(module.ident.span());
        text.replace_range(name, to);
        let docs = format!("//! Version `{from}`.");
        let mut text = text.replace(&docs, &format!("//! Version `{to}`."));
        if !self.shared.is_empty() {
            let line = match &self.shared[..] {
                [one] => format!("    pub use super::{from}::{one};\n"),
                all => format!("    pub use super::{from}::{{{}}};\n", all.join(", ")),
            };
            // Before the first import, which a version always has.
            let at = text.find("    use ")?;
            text.insert_str(at, &line);
        }
        Some(text)
    }

    /// `From` in both directions between two versions with the same fields.
    pub(super) fn conversions(&self, kind: &str, a: &str, b: &str) -> String {
        [(a, b), (b, a)].map(|(from, to)| self.conversion(kind, from, to)).concat()
    }

    fn conversion(&self, kind: &str, from: &str, to: &str) -> String {
        let (root, fields) = (&self.root, braces("        ", &self.fields));
        let mut parts = vec!["metadata: object.metadata".to_owned(), "spec".to_owned()];
        parts.extend(self.has_status.then(|| "status: object.status".to_owned()));
        let object = braces("        ", &parts);
        format!(
            "
impl From<{from}::{kind}> for {to}::{kind} {{
    fn from(object: {from}::{kind}) -> Self {{
        let {from}::{root} {fields} = object.spec;
        let spec = {to}::{root} {fields};
        Self {object}
    }}
}}
"
        )
    }
}

/// Fields in braces as rustfmt writes them: in one line only if they are short.
fn braces(indent: &str, fields: &[String]) -> String {
    let line = fields.join(", ");
    if fields.is_empty() {
        return "{}".to_owned();
    }
    if line.len() <= 18 {
        return format!("{{ {line} }}");
    }
    let lines: String = fields.iter().map(|field| format!("{indent}    {field},\n")).collect();
    format!("{{\n{lines}{indent}}}")
}

/// The struct from which the kind is derived.
fn root<'a>(module: &'a ItemMod, kind: &str) -> Option<&'a ItemStruct> {
    let items = module.content.iter().flat_map(|(_, items)| items);
    items.into_iter().find_map(|item| match item {
        Item::Struct(item)
            if metas(&item.attrs).any(|(key, value)| key == "kind" && value.value() == kind) =>
        {
            Some(item)
        }
        _ => None,
    })
}

/// The `key = "value"` of all `#[kube(..)]`.
fn metas(attributes: &[Attribute]) -> impl Iterator<Item = (String, LitStr)> {
    let mut found = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("kube")) {
        let Meta::List(list) = &attribute.meta else { continue };
        let parsed =
            list.parse_args_with(syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated);
        for meta in parsed.into_iter().flatten() {
            if let Meta::NameValue(pair) = meta
                && let (Some(key), syn::Expr::Lit(value)) = (pair.path.get_ident(), &pair.value)
                && let syn::Lit::Str(value) = &value.lit
            {
                found.push((key.to_string(), value.clone()));
            }
        }
    }
    found.into_iter()
}

/// With the white space before the first line, the end of the last, and an empty line after it.
fn whole_lines(text: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let start = if text[start..range.start].trim().is_empty() { start } else { range.start };
    // The empty line before it.
    let start = if text[..start].ends_with("\n\n") { start - 1 } else { start };
    let end = text[range.end..].find('\n').map_or(range.end, |at| range.end + at + 1);
    let end = if text[range.end..end].trim().is_empty() { end } else { range.end };
    start..end
}
