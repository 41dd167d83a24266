//! From JSON to a page. Pure. Whatever fields there are, they are shown.

use std::fmt::{self, Display, Write};

use serde_json::{Map, Value};

const STYLE: &str = "
:root{color-scheme:light dark;--line:#8884;--dim:#888;--bad:#d33;--good:#2a8a3e;--warn:#b7791f}
body{font:14px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:76rem;padding:0 1rem}
h1{font-size:1.4rem;margin:0}h2{font-size:1.15rem;margin:1.6rem 0 .4rem;text-transform:capitalize}
h3{font-size:1.05rem;margin:0 0 .4rem}h4{font-size:.9rem;margin:.8rem 0 .2rem;color:var(--dim)}
nav{color:var(--dim)}section.block{overflow-x:auto;border:1px solid var(--line);border-radius:6px;padding:.8rem 1rem;margin:.8rem 0}
dl{display:flex;flex-wrap:wrap;gap:.3rem 1.6rem;margin:0}dl div{display:flex;gap:.5rem}dt{color:var(--dim)}dd{margin:0}
table{border-collapse:collapse;width:100%}th{text-align:left;color:var(--dim);font-weight:500;white-space:nowrap}
th,td{padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.none{color:var(--dim)}.failing td:first-child{border-left:3px solid var(--bad);padding-left:.6rem}
.good{color:var(--good);font-weight:600}.warn{color:var(--warn);font-weight:600}.bad{color:var(--bad);font-weight:600}
.message{white-space:pre-wrap;overflow-wrap:anywhere;font-family:ui-monospace,monospace;font-size:.92em}
";

/// Fields that come first, in this order; the others keep theirs, and texts of errors come last.
const FIRST: [&str; 15] = [
    "name",
    "namespace",
    "kind",
    "state",
    "synced",
    "outcome",
    "objects",
    "active",
    "reason",
    "attempt",
    "queue",
    "running",
    "failing",
    "watches",
    "totals",
];
const LAST: [&str; 4] = ["last_error_age_seconds", "last_error", "message", "error"];

/// The whole document.
pub(super) fn page(sections: &[(String, Value)], refresh: Option<u32>) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    out += "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">";
    if let Some(seconds) = refresh {
        out += &format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">");
    }
    out += &format!(
        "<title>Controllers</title><style>{STYLE}</style></head><body><h1>State of this process</h1>"
    );
    out += "<nav><a href=\"?format=json\">JSON</a> · ";
    out += match refresh {
        None => "<a href=\"?format=html&amp;refresh=5\">refresh every 5 s</a></nav>\n",
        Some(_) => "<a href=\"?format=html\">stop refreshing</a></nav>\n",
    };
    for (name, content) in sections {
        out += &format!("<h2>{}</h2>\n", Escaped(name));
        match content {
            Value::Array(items) if !items.is_empty() && items.iter().all(|item| item["name"].is_string()) => {
                items.iter().for_each(|item| block(&mut out, item));
            }
            other => value_block(&mut out, name, other),
        }
    }
    out + "</body></html>\n"
}

/// One controller: its simple fields in a line, then a table for each other field.
fn block(out: &mut String, item: &Value) {
    let fields = item.as_object().cloned().unwrap_or_default();
    *out += &format!(
        "<section class=\"block\"><h3>{}</h3>\n",
        Escaped(item["name"].as_str().unwrap_or_default())
    );
    fields_of(out, &fields, &["name"]);
    *out += "</section>\n";
}

fn fields_of(out: &mut String, fields: &Map<String, Value>, except: &[&str]) {
    let mut ordered: Vec<_> = fields.iter().filter(|(key, _)| !except.contains(&key.as_str())).collect();
    ordered.sort_by_key(|(key, _)| rank(key));
    let (nested, simple): (Vec<_>, Vec<_>) = ordered
        .into_iter()
        .partition(|(_, value)| value.is_object() || value.as_array().is_some_and(|items| !items.is_empty()));
    line(out, simple.into_iter());
    for (key, value) in nested {
        *out += &format!("<h4>{}</h4>\n", Escaped(&label(key)));
        value_block(out, key, value);
    }
}

fn value_block(out: &mut String, key: &str, value: &Value) {
    match value {
        Value::Object(fields) if fields.values().all(|value| !value.is_array() && !value.is_object()) => {
            line(out, fields.iter());
        }
        Value::Object(fields) => fields_of(out, fields, &[]),
        Value::Array(items) if !items.is_empty() => table(out, key, items),
        simple => *out += &format!("{}\n", cell(key, simple)),
    }
}

fn line<'a>(out: &mut String, fields: impl Iterator<Item = (&'a String, &'a Value)>) {
    *out += "<dl>";
    for (key, value) in fields {
        *out += &format!("<div><dt>{}</dt><dd>{}</dd></div>", Escaped(&label(key)), cell(key, value));
    }
    *out += "</dl>\n";
}

/// A row per item, a column per field that any item has.
fn table(out: &mut String, key: &str, items: &[Value]) {
    let mut columns: Vec<&str> = Vec::new();
    for field in items.iter().filter_map(Value::as_object).flat_map(Map::keys) {
        if !columns.contains(&field.as_str()) {
            columns.push(field);
        }
    }
    columns.sort_by_key(|column| rank(column));
    *out += &format!("<table class=\"{}\">", Escaped(key));
    if !columns.is_empty() {
        *out += "<tr>";
        for column in &columns {
            let number = items.iter().any(|item| item[*column].is_number());
            *out += &format!("<th{}>{}</th>", class(number), Escaped(&label(column)));
        }
        *out += "</tr>\n";
    }
    for item in items {
        *out += "<tr>";
        if columns.is_empty() || !item.is_object() {
            *out += &format!("<td>{}</td>", cell(key, item));
        } else {
            for column in &columns {
                let value = &item[*column];
                *out += &format!("<td{}>{}</td>", class(value.is_number()), cell(column, value));
            }
        }
        *out += "</tr>\n";
    }
    *out += "</table>\n";
}

fn class(is_number: bool) -> &'static str {
    if is_number { " class=\"number\"" } else { "" }
}

fn rank(key: &str) -> usize {
    let last = LAST.iter().position(|last| *last == key).map(|at| FIRST.len() + 1 + at);
    let first = FIRST.iter().position(|first| *first == key);
    first.or(last).unwrap_or(FIRST.len())
}

/// A simple value; anything else as JSON.
fn cell(key: &str, value: &Value) -> String {
    match value {
        Value::Null => "<span class=\"none\">–</span>".into(),
        Value::Array(items) if items.is_empty() => "<span class=\"none\">none</span>".into(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Number(number) if key.ends_with("_seconds") => duration(number.as_f64().unwrap_or_default()),
        Value::Number(number) => number.to_string(),
        Value::String(text) => match tone(key, text) {
            Some(tone) => format!("<span class=\"{tone}\">{}</span>", Escaped(&text.replace('_', " "))),
            None if LAST.contains(&key) => {
                format!("<span class=\"message\">{}</span>", Escaped(text))
            }
            None => Escaped(text).to_string(),
        },
        other => Escaped(&other.to_string()).to_string(),
    }
}

/// The colour of a state.
fn tone(key: &str, text: &str) -> Option<&'static str> {
    match (key, text) {
        ("state", "ok" | "running" | "watching" | "leading" | "served") => Some("good"),
        ("state", "stopped" | "failed" | "failing" | "lost") | ("outcome", _) => Some("bad"),
        ("state", _) => Some("warn"),
        _ => None,
    }
}

fn label(key: &str) -> String {
    key.trim_end_matches("_seconds").replace('_', " ")
}

/// `850 ms`, `12.3 s`, `5 m 10 s`, `2 h 5 m` or `3 d 4 h`.
fn duration(seconds: f64) -> String {
    let whole = |unit: f64, name: &str, smaller: f64, small_name: &str| {
        format!("{} {name} {} {small_name}", (seconds / unit).floor(), (seconds % unit / smaller).floor())
    };
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => whole(60.0, "m", 1.0, "s"),
        s if s < 172_800.0 => whole(3600.0, "h", 60.0, "m"),
        _ => whole(86_400.0, "d", 3600.0, "h"),
    }
}

/// Text for content and attributes.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            c => f.write_char(c),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{duration, page};

    #[test]
    fn all_text_is_escaped() {
        let evil = "<script>alert('\"&\"')</script>";
        let content = json!([{"name": evil, "state": evil, evil: evil, "failing": [{evil: evil, "message": evil}],
            "nested": {evil: {evil: [evil, 5, null]}}}]);
        let page = page(
            &[(evil.into(), content), ("plain".into(), json!(evil)), (evil.into(), json!([evil]))],
            None,
        );
        assert!(!page.contains("<script") && !page.contains("alert('"), "{page}");
        assert!(page.matches("&lt;script&gt;alert(&#39;&quot;&amp;&quot;&#39;)").count() >= 12, "{page}");
    }

    #[test]
    fn tables_have_a_column_for_each_field_of_any_row() {
        let rows = json!([{"name": "c", "running": [{"name": "a", "elapsed_seconds": 1.5}, {"name": "b", "reason": "x"}], "failing": []}]);
        let page = page(&[("controllers".into(), rows)], Some(7));
        assert!(page.contains("content=\"7\"") && page.contains("stop refreshing"));
        let columns = ["<th>name</th>", "<th>reason</th>", "<th class=\"number\">elapsed</th>"];
        let order = columns.map(|column| page.find(column));
        assert!(order.is_sorted() && order[0].is_some(), "{page}");
        let row = "<td>a</td><td><span class=\"none\">–</span></td><td class=\"number\">1.5 s</td>";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("<span class=\"none\">none</span>"));
    }

    #[test]
    fn durations_have_two_units() {
        for (seconds, shown) in [
            (0.0, "0 ms"),
            (0.0123, "12 ms"),
            (1.25, "1.2 s"),
            (119.9, "119.9 s"),
            (125.0, "2 m 5 s"),
            (7500.0, "2 h 5 m"),
            (200_000.0, "2 d 7 h"),
        ] {
            assert_eq!(duration(seconds), shown);
        }
    }
}
