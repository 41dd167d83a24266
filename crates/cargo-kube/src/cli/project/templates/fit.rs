//! Lines of Rust that a long name makes too long, broken as rustfmt breaks them: a new project passes its own `cargo fmt --check`.

/// The longest line.
const WIDTH: usize = 100;
/// The longest arguments of a call, and elements of a list, in one line.
const ITEMS: usize = 60;

/// The text with those lines broken that are too long: signatures, bindings, and methods in a chain.
pub(super) fn fit(text: &str) -> String {
    text.lines().map(|line| fitting(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

/// Whether these elements of a list are in one line.
pub(super) fn in_one_line(elements: &[&str]) -> bool {
    elements.join(", ").len() <= ITEMS
}

/// `None` for a line that is not too long, or of which nothing is known.
fn fitting(line: &str) -> Option<String> {
    let (code, is_long) = (line.trim_start(), line.len() > WIDTH);
    let indent = &line[..line.len() - code.len()];
    if is_long && code.contains("fn ") && code.ends_with(" {") {
        let (start, rest) = line.split_once('(')?;
        let (parameters, result) = rest.split_once(") -> ")?;
        return Some(format!("{start}(\n{}{indent}) -> {result}", lines(indent, parameters)));
    }
    if is_long && code.starts_with("let ") && code.ends_with(';') {
        let (pattern, value) = line.split_once(" = ")?;
        return Some(format!("{pattern} =\n{indent}    {value}"));
    }
    let (method, arguments) = code.strip_prefix('.')?.strip_suffix(')')?.split_once('(')?;
    let are_plain = arguments.contains(", ") && !arguments.contains(['(', '|', '{']);
    let is_call = are_plain && arguments.len() > ITEMS;
    is_call.then(|| format!("{indent}.{method}(\n{}{indent})", lines(indent, arguments)))
}

/// A line for each of `a, b`.
fn lines(indent: &str, items: &str) -> String {
    items.split(", ").map(|item| format!("{indent}    {item},\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_too_long_are_broken_and_others_stay() {
        let name = "CertificateRequest";
        let text = format!(
            "pub async fn reconcile(object: Arc<{name}>, context: Arc<Context>) -> Result<Action, Error> {{\n    \
             let objects: Api<{name}> = Api::namespaced(context.client.clone(), &namespace_of_the_object);\n        \
             .controller(\"{name}{name}\", controller, reconcile, context)\n        .writes(&maps, Writes::Objects)\n}}\n"
        );
        let expected = format!(
            "pub async fn reconcile(\n    object: Arc<{name}>,\n    context: Arc<Context>,\n) -> Result<Action, Error> {{\n    \
             let objects: Api<{name}> =\n        Api::namespaced(context.client.clone(), &namespace_of_the_object);\n        \
             .controller(\n            \"{name}{name}\",\n            controller,\n            reconcile,\n            context,\n        )\n        \
             .writes(&maps, Writes::Objects)\n}}\n"
        );
        assert_eq!(fit(&text), expected);
        assert_eq!(fit(&expected), expected);
    }
}
