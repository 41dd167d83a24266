//! What `cargo kube verify` asks for, through the environment.

use std::{env, path::PathBuf, time::Duration};

use crate::{family::Families, plan::Plan};

/// Options of a verification. Those of the command line win over those of the test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) plan: Option<Plan>,
    pub(crate) families: Option<Families>,
    /// Only prints the plans.
    pub(crate) list: bool,
    /// This part of the plans, of so many.
    pub(crate) shard: Option<(usize, usize)>,
    pub(crate) budget: Option<Duration>,
    /// Where the report is written as JSON.
    pub(crate) json: Option<PathBuf>,
}

impl Options {
    /// Reads the variables `KUBE_VERIFY_*`.
    pub(crate) fn from_env() -> Result<Self, String> {
        Self::read(|name| env::var(format!("KUBE_VERIFY_{name}")).ok().filter(|value| !value.is_empty()))
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        fn parsed<T>(
            name: &str,
            value: Option<String>,
            read: impl Fn(&str) -> Result<T, String>,
        ) -> Result<Option<T>, String> {
            let read = |value: String| read(&value).map_err(|why| format!("KUBE_VERIFY_{name}: {why}"));
            value.map(read).transpose()
        }
        Ok(Self {
            plan: parsed("PLAN", variable("PLAN"), |text| {
                text.parse().map_err(|error: crate::PlanError| error.to_string())
            })?,
            families: parsed("FAMILIES", variable("FAMILIES"), str::parse)?,
            list: variable("LIST").is_some(),
            shard: parsed("SHARD", variable("SHARD"), shard)?,
            budget: parsed("BUDGET", variable("BUDGET"), |text| {
                let seconds = text.parse().map_err(|_| format!("expected seconds, not {text:?}"))?;
                Ok(Duration::from_secs(seconds))
            })?,
            json: variable("JSON").map(PathBuf::from),
        })
    }
}

/// `2/4` is the second of four.
fn shard(text: &str) -> Result<(usize, usize), String> {
    let expected = || format!("expected a shard such as 2/4, not {text:?}");
    let (part, of) = text.split_once('/').ok_or_else(expected)?;
    let (part, of): (usize, usize) =
        (part.parse().map_err(|_| expected())?, of.parse().map_err(|_| expected())?);
    if part == 0 || part > of { Err(expected()) } else { Ok((part, of)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, value: &'static str) -> Result<Options, String> {
        Options::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn each_option_is_read_and_a_wrong_one_is_named() {
        assert_eq!(read("SHARD", "2/4").unwrap().shard, Some((2, 4)));
        assert_eq!(read("BUDGET", "60").unwrap().budget, Some(Duration::from_secs(60)));
        assert!(read("LIST", "1").unwrap().list);
        assert_eq!(read("PLAN", "restart after step 1").unwrap().plan.unwrap().0.len(), 1);
        for (name, value) in
            [("SHARD", "0/4"), ("SHARD", "5/4"), ("BUDGET", "1m"), ("FAMILIES", "x"), ("PLAN", "x")]
        {
            let error = read(name, value).unwrap_err();
            assert!(error.starts_with(&format!("KUBE_VERIFY_{name}: ")), "{error}");
        }
    }
}
