//! `cargo kube rbac`.

use crate::harness::{INSTALL, Project, text};

fn checked(project: &Project) -> (Option<i32>, String) {
    let output = project.run(&["rbac", "--check"]);
    (output.status.code(), format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn who_needs_what_is_printed() {
    let output = Project::new().run(&["rbac"]);
    assert_eq!(text(&output.stdout), "list,watch configmaps everywhere: the controller maps\n", "{output:?}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn missing_and_excess_rules_are_lines() {
    let project = Project::new();
    std::fs::create_dir_all(project.path("project/deploy/chart/templates")).unwrap();
    // No YAML, and no part of the comparison.
    project.write("project/deploy/chart/Chart.yaml", "name: op\n");
    project.write("project/deploy/chart/templates/role.yaml", "{{- if .Values.x }}\n");
    project.write("project/deploy/roles.yaml", INSTALL);
    let same = (Some(0), "deploy permits what op needs, and nothing else\n".to_owned());
    assert_eq!(checked(&project), same);

    project.write(
        "project/deploy/roles.yaml",
        &INSTALL.replace("verbs: [list, watch]", "verbs: [list, delete]"),
    );
    let lines =
        "missing: watch configmaps everywhere: the controller maps\nexcess: delete configmaps everywhere\n";
    assert_eq!(checked(&project), (Some(1), lines.to_owned()));

    // A role that somebody added by hand.
    let by_hand = INSTALL.replace("metadata: {name: op}, rules", "metadata: {name: more}, rules");
    let by_hand = by_hand
        .replace("kind: ClusterRole, name: op}", "kind: ClusterRole, name: more}")
        .replace("configmaps", "secrets");
    project.write("project/deploy/roles.yaml", INSTALL);
    project.write("project/deploy/by-hand.yml", &by_hand);
    assert_eq!(checked(&project), (Some(1), "excess: list,watch secrets everywhere\n".to_owned()));
    project.write(
        "project/deploy/by-hand.yml",
        &by_hand.replace("kind: ClusterRole, name: more}", "kind: ClusterRole, name: view}"),
    );
    let (code, lines) = checked(&project);
    assert_eq!((code, &*lines), (Some(1), "excess: all of ClusterRole view, which is bound but not there\n"));
}

#[test]
fn a_folder_without_roles_is_wrong_input() {
    let project = Project::new();
    let (code, error) = checked(&project);
    assert!(code == Some(2) && error.starts_with("error: deploy: "), "{error}");
    std::fs::create_dir(project.path("project/deploy")).unwrap();
    let expected = "error: deploy: expected roles in YAML files, found none\n";
    assert_eq!(checked(&project), (Some(2), expected.to_owned()));
}
