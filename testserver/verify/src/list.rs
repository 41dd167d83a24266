//! The plans as `--list` prints them: below their families, by the names that `--families` takes.

use std::fmt::Write as _;

use crate::plan::Plan;

/// A line for each family with the number of its plans, then these; at the end the totals.
pub(crate) fn list(plans: &[Plan]) -> String {
    let mut families: Vec<(String, Vec<&Plan>)> = Vec::new();
    for plan in plans {
        let names: Vec<_> = plan.families().into_iter().map(|family| family.name()).collect();
        let name = names.join(",");
        match families.iter_mut().find(|(other, _)| *other == name) {
            Some((_, of_family)) => of_family.push(plan),
            None => families.push((name, vec![plan])),
        }
    }
    let mut text = String::new();
    for (name, of_family) in &families {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name} ({}):", of_family.len());
        for plan in of_family {
            let _ = writeln!(text, "  {plan}");
        }
    }
    let _ = writeln!(text, "plans: {}, families: {}", plans.len(), families.len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_stand_below_the_names_of_their_families() {
        let texts = [
            "restart after step 1",
            "500 for create pods a #1",
            "restart after step 2",
            "500 for list pods default #1",
        ];
        let plans: Vec<Plan> = texts.map(|text| text.parse().unwrap()).into();
        let expected = "\
restart (2):
  restart after step 1
  restart after step 2
500 (1):
  500 for create pods a #1
failed-read (1):
  500 for list pods default #1
plans: 4, families: 3
";
        assert_eq!(list(&plans), expected);
        for line in expected.lines().filter(|line| line.starts_with(' ')) {
            assert!(line.parse::<Plan>().is_ok(), "as it is copied: {line}");
        }
        assert_eq!(list(&[]), "plans: 0, families: 0\n");
    }
}
