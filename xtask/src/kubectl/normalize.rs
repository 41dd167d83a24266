//! Replaces what differs between any two runs of a command by placeholders: times, uids, versions, addresses, random names.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::regex;

/// Applied in this order to every line.
const RULES: [(&str, &str); 26] = [
    (r"^W[0-9]{4} .*diff.go:[0-9]+\]", "WARNING"),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+( ?Z| ?[+-][0-9:]+)", "TIME"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]+ [+-][0-9]{4}", "TIME"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r#"("?resourceVersion"?: ?)"[0-9]+""#, "${1}RV"),
    (r"(Resource Version: +)[0-9]+", "${1}RV"),
    (r"(web|made)-[a-z0-9]{6,10}-[a-z0-9]{5}", "${1}-HASH-NAME"),
    (r"\b(web|made)-[a-z0-9]{6,10}\b", "${1}-HASH"),
    (r"(once|made)-[a-z0-9]{5}\b", "${1}-NAME"),
    (r#"(pod-template-hash"?[:=] ?"?)[a-z0-9]{6,10}"#, "${1}HASH"),
    (r"\b[0-9]+(s|m|h|d|y|ms)([0-9]+[smhd])?( ago)?( |$)", "AGE${3} "),
    (r"127\.0\.0\.1:[0-9]+", "ADDRESS"),
    (r"localhost:[0-9]+", "ADDRESS"),
    (r"\b10\.[0-9]+\.[0-9]+\.[0-9]+\b", "ADDRESS"),
    (r"\b3[0-2][0-9]{3}\b", "NODEPORT"),
    (r"/tmp/[A-Za-z]+-[0-9]+/", "/tmp/"),
    (r"(resource version to be 1, was )[0-9]+", "${1}RV"),
    (r"kube-api-access-[a-z0-9]{5}", "kube-api-access-NAME"),
    (r"/tmp/kubectl-edit-[0-9]+", "/tmp/EDIT"),
    (r"(kube-testserver)\.[0-9.]+", "${1}.VERSION"),
    (r"eyJ[A-Za-z0-9_.-]+", "TOKEN"),
    // Columns are as wide as their widest cell, and so are lines below headings.
    (r"  +", "  "),
    (r" +$", ""),
    (r"-{2,}", "-"),
    // The client's own versions say nothing about a server.
    (r"^(Client|Kustomize) Version.*", "\0"),
    (r"\r", ""),
];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> =
    LazyLock::new(|| RULES.iter().map(|(pattern, with)| (regex(pattern), *with)).collect());

/// The output of a command in the namespace of a run.
pub(super) fn normalize(output: &str, namespace: &str) -> String {
    let lines = output.lines().map(|line| {
        let line = line.replace(namespace, "NS");
        PATTERNS.iter().fold(line, |line, (pattern, with)| pattern.replace_all(&line, *with).into_owned())
    });
    lines.filter(|line| line != "\0").map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn what_differs_between_two_runs_is_replaced() {
        for (output, expected) in [
            ("web   1/1   Running   5m3s\n", "web  1/1  Running  AGE\n"),
            ("x  12ms ago  y\n", "x  AGE ago  y\n"),
            ("creationTimestamp: \"2026-11-26T00:08:14Z\"\n", "creationTimestamp: \"TIME\"\n"),
            ("  resourceVersion: \"12\"\n", "  resourceVersion: RV\n"),
            ("/x from kube-api-access-abcde (ro)\n", "/x from kube-api-access-NAME (ro)\n"),
            ("pod/web-5d8f6c7b9-abcde created\n", "pod/web-HASH-NAME created\n"),
            ("Client Version: v1.37\nServer Version: v1.37\n", "Server Version: v1.37\n"),
            ("namespace/team-1 created\n", "namespace/NS created\n"),
            ("NAME\n-----\n", "NAME\n-\n"),
            ("10.96.0.1  30080/TCP\n", "ADDRESS  NODEPORT/TCP\n"),
        ] {
            assert_eq!(normalize(output, "team-1"), expected);
        }
    }
}
