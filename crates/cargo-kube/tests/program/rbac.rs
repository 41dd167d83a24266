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
    // What kustomize and people have beside the objects.
    std::fs::create_dir_all(project.path("project/deploy/overlay")).unwrap();
    project.write(
        "project/deploy/overlay/kustomization.yaml",
        "resources: [../base]\npatches: [{path: patch.yaml}]\n",
    );
    project.write("project/deploy/overlay/patch.yaml", "- op: remove\n  path: /spec/replicas\n");
    project.write("project/deploy/values.yml", "replicas: 3\n---\n");
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
fn roles_in_lists_count_and_a_file_that_is_no_yaml_is_named() {
    let project = Project::new();
    std::fs::create_dir_all(project.path("project/deploy")).unwrap();
    let items: String = INSTALL
        .split("---\n")
        .map(|object| format!("- {}", object.replace('\n', "\n  ")))
        .collect::<Vec<_>>()
        .join("\n");
    project.write("project/deploy/all.yaml", &format!("apiVersion: v1\nkind: List\nitems:\n{items}\n"));
    assert_eq!(checked(&project), (Some(0), "deploy permits what op needs, and nothing else\n".to_owned()));
    project.write("project/deploy/broken.yaml", "a: [\n");
    let (code, error) = checked(&project);
    assert!(code == Some(2) && error.starts_with("error: deploy/broken.yaml: "), "{error}");
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
