use regex::{Regex, RegexBuilder};

use super::scan;

/// Go has no limit; this one keeps a definition from taking all memory.
const MAX_BYTES: usize = 256 << 20;
const MAX_NESTING: u32 = 4000;

/// Compiles a pattern of Go. The error is Go's, such as ``missing closing ]: `[a` ``.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = scan::translate(pattern)?;
    let built = RegexBuilder::new(&translated).size_limit(MAX_BYTES).nest_limit(MAX_NESTING).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => scan::error("expression too large", pattern),
        other => scan::error(&other.to_string(), pattern),
    })
}
