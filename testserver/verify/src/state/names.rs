//! Which names of objects are random, as two runs with other seeds show.

use std::collections::BTreeSet;

/// Random names by their resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// What stands before the random part.
    prefixes: BTreeSet<(String, String)>,
    /// Names that both runs have, whatever they begin with.
    fixed: BTreeSet<(String, String)>,
}

impl Names {
    /// The name with `*` in place of its random part.
    pub(crate) fn template(&self, resource: &str, name: &str) -> String {
        if self.fixed.contains(&(resource.to_owned(), name.to_owned())) {
            return name.to_owned();
        }
        let prefixes =
            self.prefixes.iter().filter(|(of, prefix)| of == resource && name.starts_with(prefix.as_str()));
        match prefixes.max_by_key(|(_, prefix)| prefix.len()) {
            Some((_, prefix)) => format!("{prefix}*"),
            None => name.to_owned(),
        }
    }

    /// Learns from the names of two runs: one that only the first has and that shares its begin with one that only the second has.
    pub(crate) fn learn(&mut self, one: &BTreeSet<(String, String)>, other: &BTreeSet<(String, String)>) {
        for (resource, name) in one.difference(other) {
            let candidates = other.difference(one).filter(|(of, _)| of == resource);
            let Some(shared) =
                candidates.map(|(_, candidate)| shared(name, candidate)).max_by_key(|s| s.len())
            else {
                continue;
            };
            // Up to the last separator: two random parts may begin with the same letters.
            let prefix = shared.rfind(['-', '.']).map_or("", |at| &shared[..=at]);
            self.prefixes.insert((resource.clone(), prefix.to_owned()));
        }
        self.fixed.extend(one.intersection(other).cloned());
    }
}

/// The begin that both have.
fn shared<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
    let end = same.last().map_or(0, |((at, letter), _)| at + letter.len_utf8());
    &one[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(names: &[&str]) -> BTreeSet<(String, String)> {
        names.iter().map(|name| ("pods".to_owned(), (*name).to_owned())).collect()
    }

    #[test]
    fn the_random_part_of_a_name_is_learned() {
        let mut names = Names::default();
        names.learn(&run(&["web-x7f2k", "db"]), &run(&["web-x9q1d", "db"]));
        assert_eq!(names.template("pods", "web-abcde"), "web-*");
        assert_eq!(names.template("pods", "db"), "db");
        assert_eq!(names.template("secrets", "web-abcde"), "web-abcde");
    }

    #[test]
    fn a_name_that_both_runs_have_is_not_random() {
        let mut names = Names::default();
        names.learn(
            &run(&["0b7e", "config", "web-a", "web-x7f2k"]),
            &run(&["94c1", "config", "web-a", "web-k1d9s"]),
        );
        assert_eq!(names.template("pods", "5f3d"), "*");
        assert_eq!(names.template("pods", "config"), "config");
        assert_eq!(names.template("pods", "web-a"), "web-a");
        assert_eq!(names.template("pods", "web-b"), "web-*");
    }

    #[test]
    fn the_longest_prefix_counts() {
        let mut names = Names::default();
        names.learn(&run(&["a-1", "a-b-2"]), &run(&["a-3", "a-b-4"]));
        assert_eq!(names.template("pods", "a-b-9"), "a-b-*");
        assert_eq!(names.template("pods", "a-9"), "a-*");
    }
}
