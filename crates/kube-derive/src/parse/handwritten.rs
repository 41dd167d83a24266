//! Each handwritten `not`, by `schemars(extend(..))`, that servers refuse. What the attribute does not show, such as the schema of another
//! type, is left to `structural_schema`, which has all.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{
    Attribute, DeriveInput, Error, Field, GenericArgument, LitStr, Meta, PathArguments, Type, ext::IdentExt,
};

use super::fields::{entries, has_flag, texts};

/// What is known of the schema that an attribute extends.
#[derive(Clone, Default)]
struct Known {
    type_name: Option<&'static str>,
    /// `None` if they are not known.
    fields: Option<Vec<(String, Option<&'static str>)>>,
}

/// The errors of the type and its fields, at the tokens that are refused.
pub(super) fn refused_conditions(input: &DeriveInput) -> Vec<Error> {
    let syn::Data::Struct(data) = &input.data else { return extended(&input.attrs, &Known::default()) };
    let of_struct = Known { type_name: Some("object"), fields: fields(&input.attrs, &data.fields) };
    let mut errors = extended(&input.attrs, &of_struct);
    for field in &data.fields {
        errors.extend(extended(&field.attrs, &Known { type_name: type_name(field), fields: None }));
    }
    errors
}

fn extended(attrs: &[Attribute], known: &Known) -> Vec<Error> {
    let schemars = attrs.iter().filter(|attr| attr.path().is_ident("schemars"));
    let mut errors = Vec::new();
    for entry in schemars.filter_map(entries).flatten() {
        if let Meta::List(list) = entry
            && list.path.is_ident("extend")
        {
            object(list.tokens, known, false, &mut errors);
        }
    }
    errors
}

/// The names of the fields in JSON, if no attribute changes them all.
fn fields(attrs: &[Attribute], fields: &syn::Fields) -> Option<Vec<(String, Option<&'static str>)>> {
    let renamed = |attrs: &[Attribute]| {
        ["rename_all", "rename_all_fields"].iter().any(|key| !texts(attrs, key).is_empty())
    };
    if renamed(attrs) {
        return None;
    }
    let field = |field: &Field| {
        let name = match &texts(&field.attrs, "rename")[..] {
            [] => field.ident.as_ref()?.unraw().to_string(),
            [name] => name.clone(),
            _ => return None,
        };
        (!has_flag(&field.attrs, "flatten")).then(|| (name, type_name(field)))
    };
    fields.iter().map(field).collect()
}

/// The `type` in the schema of a field whose Rust type says it.
fn type_name(field: &Field) -> Option<&'static str> {
    let other = ["with", "schema_with"].iter().any(|key| !texts(&field.attrs, key).is_empty());
    if other { None } else { of_type(&field.ty) }
}

fn of_type(ty: &Type) -> Option<&'static str> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    match last.ident.unraw().to_string().as_str() {
        "String" => Some("string"),
        "bool" => Some("boolean"),
        "f32" | "f64" => Some("number"),
        "i8" | "i16" | "i32" | "i64" | "isize" | "u8" | "u16" | "u32" | "u64" | "usize" => Some("integer"),
        "Vec" => Some("array"),
        "Option" => match &last.arguments {
            PathArguments::AngleBracketed(arguments) => {
                arguments.args.iter().find_map(|argument| match argument {
                    GenericArgument::Type(inner) => of_type(inner),
                    _ => None,
                })
            }
            _ => None,
        },
        _ => None,
    }
}

/// The tokens between the braces of a schema. `condition`: whether it is inside of a `not`.
fn object(tokens: TokenStream, known: &Known, condition: bool, errors: &mut Vec<Error>) {
    for (key, value) in pairs(tokens) {
        let name = key.value();
        if condition && let Some(problem) = problem(&name, &value, known) {
            let message = format!(
                "servers refuse {problem} inside of `not`: it may have validations such as `enum`, `required` or `pattern`, \
                 and of declared fields also their `properties`"
            );
            errors.push(Error::new(key.span(), message));
            continue;
        }
        match name.as_str() {
            "not" if is_no_schema(&value) => {
                errors.push(Error::new(key.span(), "expected a schema in braces"))
            }
            "not" => schema(value, known, true, errors),
            "allOf" | "anyOf" | "oneOf" => {
                elements(value).into_iter().for_each(|branch| schema(branch, known, condition, errors));
            }
            "properties" => {
                let fields = braces(&value).map(pairs).unwrap_or_default();
                fields
                    .into_iter()
                    .for_each(|(field, value)| of_field(&field, value, known, condition, errors));
            }
            "items" => schema(value, &Known::default(), condition, errors),
            _ => {}
        }
    }
}

fn of_field(field: &LitStr, value: TokenStream, known: &Known, condition: bool, errors: &mut Vec<Error>) {
    let name = field.value();
    let declared = known.fields.as_ref().map(|fields| fields.iter().find(|(declared, _)| *declared == name));
    match declared {
        Some(None) if condition => {
            errors.push(Error::new(
                field.span(),
                format!("`not` is about a field {name:?} that is not declared"),
            ));
        }
        declared => {
            let type_name = declared.flatten().and_then(|(_, type_name)| *type_name);
            schema(value, &Known { type_name, fields: None }, condition, errors);
        }
    }
}

fn schema(value: TokenStream, known: &Known, condition: bool, errors: &mut Vec<Error>) {
    if let Some(tokens) = braces(&value) {
        object(tokens, known, condition, errors);
    }
}

/// Why a keyword must not be in a condition.
fn problem(name: &str, value: &TokenStream, known: &Known) -> Option<String> {
    let declared = known.type_name.unwrap_or_default();
    match name {
        "$ref" | "nullable" | "patternProperties" | "unevaluatedProperties" => Some(format!("`{name}`")),
        "additionalProperties" if value.to_string() != "false" => Some(format!("`{name}`")),
        name if name.starts_with("x-kubernetes-") => Some(format!("`{name}`")),
        "type" => {
            let other = syn::parse2::<LitStr>(value.clone()).ok()?.value();
            (!declared.is_empty() && other != declared)
                .then(|| format!("the type `{other}` of what is declared as `{declared}`"))
        }
        _ => None,
    }
}

/// A literal, or an array: no expression that may be a schema.
fn is_no_schema(value: &TokenStream) -> bool {
    match &value.clone().into_iter().collect::<Vec<_>>()[..] {
        [TokenTree::Literal(_)] => true,
        [TokenTree::Ident(ident)] => ident == "true" || ident == "false" || ident == "null",
        [TokenTree::Group(group)] => group.delimiter() == Delimiter::Bracket,
        _ => false,
    }
}

fn braces(value: &TokenStream) -> Option<TokenStream> {
    group(value, Delimiter::Brace)
}

fn group(value: &TokenStream, delimiter: Delimiter) -> Option<TokenStream> {
    match &value.clone().into_iter().collect::<Vec<_>>()[..] {
        [TokenTree::Group(group)] if group.delimiter() == delimiter => Some(group.stream()),
        _ => None,
    }
}

fn elements(value: TokenStream) -> Vec<TokenStream> {
    group(&value, Delimiter::Bracket).map(between_commas).unwrap_or_default()
}

/// `"key": value` or `"key" = value`, separated by commas. Keys that are expressions are left out.
fn pairs(tokens: TokenStream) -> Vec<(LitStr, TokenStream)> {
    let pair = |tokens: TokenStream| {
        let mut tokens = tokens.into_iter();
        let key = syn::parse2(tokens.next()?.into()).ok()?;
        matches!(tokens.next()?, TokenTree::Punct(punct) if matches!(punct.as_char(), ':' | '='))
            .then(|| (key, tokens.collect()))
    };
    between_commas(tokens).into_iter().filter_map(pair).collect()
}

fn between_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let parts = tokens.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','));
    parts.map(|part| part.iter().cloned().collect()).collect()
}
