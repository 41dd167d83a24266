//! Runs commands in the shell.

use super::*;
use crate::pods::Container;

async fn output_of(command: &[&str], input: &[u8]) -> (String, String, Exit) {
    output_on(&FileSystems::default(), command, input).await
}

async fn output_on(file_systems: &FileSystems, command: &[&str], input: &[u8]) -> (String, String, Exit) {
    let container = Container { namespace: "default".into(), pod: "web".into(), name: "main".into() };
    let command = command.iter().map(|word| (*word).to_owned()).collect();
    let (process, mut streams) = Process::new(container, command, false);
    let client = async {
        streams.stdin.write_all(input).await.unwrap();
        drop(streams.stdin);
        let (mut out, mut err) = (Vec::new(), String::new());
        let both =
            tokio::join!(streams.stdout.read_to_end(&mut out), streams.stderr.read_to_string(&mut err));
        both.0.unwrap();
        both.1.unwrap();
        (String::from_utf8_lossy(&out).into_owned(), err)
    };
    let ((out, err), exit) = tokio::join!(client, run(process, file_systems.clone()));
    (out, err, exit)
}

#[tokio::test]
async fn commands_have_output_errors_and_codes() {
    let (out, err, exit) = output_of(&["echo", "a  b", "c"], b"").await;
    assert_eq!((out.as_str(), err.as_str(), exit), ("a  b c\n", "", Exit::Code(0)));
    assert_eq!(output_of(&["cat"], b"through").await.0, "through");
    let (out, err, exit) =
        output_of(&["/bin/sh", "-c", "echo 'it  is'; cat /none && echo no || exit 7; echo x"], b"").await;
    assert_eq!((out.as_str(), exit), ("it  is\n", Exit::Code(7)));
    assert_eq!(err, "cat: /none: No such file or directory\n");
    assert_eq!(output_of(&["sh", "-c", "nonsense"], b"").await.2, Exit::Code(127));
    let (_, _, exit) = output_of(&["nonsense"], b"").await;
    assert!(matches!(exit, Exit::Failed(why) if why.contains("\"nonsense\": executable file not found")));
    assert_eq!(output_of(&["sh"], b"hostname\nexit 3\necho late\n").await.0, "web\n");
}

#[tokio::test]
async fn files_are_per_container_and_copied_as_archives() {
    let file_systems = FileSystems::default();
    assert_eq!(output_on(&file_systems, &["sh", "-c", "echo hi > /data/f && ls /data"], b"").await.0, "f\n");
    assert_eq!(output_on(&file_systems, &["test", "-d", "/data"], b"").await.2, Exit::Code(0));
    assert_eq!(output_on(&file_systems, &["test", "-d", "/data/f"], b"").await.2, Exit::Code(1));
    let container = Container { namespace: "default".into(), pod: "web".into(), name: "main".into() };
    let archive = file_systems.with(&container, |disk| disk.pack("/", &["/data"]).unwrap());
    assert_eq!(
        output_on(&file_systems, &["tar", "-xmf", "-", "-C", "/tmp"], &archive).await.2,
        Exit::Code(0)
    );
    assert_eq!(output_on(&file_systems, &["cat", "/tmp/data/f"], b"").await.0, "hi\n");
    assert!(output_on(&file_systems, &["tar", "cf", "-", "/tmp/data"], b"").await.0.contains("tmp/data/f"));
    let (packed, ..) = output_on(&file_systems, &["tar", "cf", "-", "-C", "/tmp/data", "."], b"").await;
    assert!(packed.starts_with("f\0"), "names are relative to the directory");
    assert_eq!(output_on(&file_systems, &["tar", "cf", "-", "/none"], b"").await.2, Exit::Code(2));
}
