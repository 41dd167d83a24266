//! How a copy from a pod goes on after its connection failed, and what proves that it is still the same archive. No I/O.

use bytes::{Bytes, BytesMut};

use super::scan::ArchiveScanner;

/// So many bytes of the content at the border are received again.
const OVERLAP: usize = 4096;

/// What has been received of an archive.
#[derive(Debug, Default)]
pub(super) struct Received {
    bytes: u64,
    /// The last of them.
    tail: BytesMut,
    scanner: ArchiveScanner,
}

/// Where the next attempt begins: it receives the headers of the entry at the border again, then the last bytes before the border.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResumePoint {
    /// Of the entry.
    pub(super) offset: u64,
    headers: u64,
    /// Bytes of the entry behind its headers that are not received again.
    skip: u64,
    /// What is received again.
    pub(super) repeated: Bytes,
}

impl Received {
    pub(super) fn add(&mut self, piece: &[u8]) -> Result<(), String> {
        self.scanner.receive(piece)?;
        self.bytes += piece.len() as u64;
        self.tail.extend_from_slice(&piece[piece.len().saturating_sub(OVERLAP)..]);
        let excess = self.tail.len().saturating_sub(OVERLAP);
        drop(self.tail.split_to(excess));
        Ok(())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether no entry is missing.
    pub(super) fn is_whole(&self) -> bool {
        self.scanner.has_ended()
    }

    /// `None` if nothing has been received.
    pub(super) fn resume_point(&self) -> Option<ResumePoint> {
        if self.bytes == 0 {
            return None;
        }
        let (offset, headers) = match self.scanner.entry() {
            Some(entry) => (entry.offset, &entry.headers[..]),
            None => (0, &[][..]),
        };
        let behind = self.bytes - offset - headers.len() as u64;
        let overlap = usize::try_from(behind).unwrap_or(usize::MAX).min(self.tail.len());
        let mut repeated = BytesMut::from(headers);
        repeated.extend_from_slice(&self.tail[self.tail.len() - overlap..]);
        Some(ResumePoint {
            offset,
            headers: headers.len() as u64,
            skip: behind - overlap as u64,
            repeated: repeated.freeze(),
        })
    }
}

/// Prints the archive of `$1` from byte `$2` on, of which it leaves out those between the first `$3` and the `$4`th after them. Its exit
/// code is that of `tar`, whatever the end of the pipe says. `dd` by single bytes, because `head` may read more than it prints.
const RESUMED: &str = r#"{ codes=$({ { tar cf - "$1"; echo "$?" >&4; } | tail -c "+$2" |
{ dd bs=1 "count=$3" 2>/dev/null && tail -c "+$4"; } >&3 || echo "$?" >&4; } 4>&1); } 3>&1
for code in ${codes:-1}; do [ "$code" = 0 ] || exit "$code"; done"#;

impl ResumePoint {
    /// The command that prints the rest of the archive of `path`.
    pub(super) fn command(&self, path: &str) -> Vec<String> {
        let mut command = ["sh", "-c", RESUMED, "sh", path].map(str::to_owned).to_vec();
        command.extend([self.offset + 1, self.headers, self.skip + 1].map(|number| number.to_string()));
        command
    }
}

#[cfg(test)]
mod tests {
    use tar::{Builder, Header};

    use super::*;

    fn archive() -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, size) in [("a", 100), ("b", 10_000)] {
            let mut header = Header::new_gnu();
            header.set_size(size);
            let content: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            builder.append_data(&mut header, name, &content[..]).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn what_is_received_again_are_the_headers_of_the_entry_and_the_last_bytes() {
        let archive = archive();
        assert_eq!(Received::default().resume_point(), None);
        for (received, offset, headers, skip) in [
            (100, 0, 0, 0),
            (512, 0, 512, 0),
            // The headers of the second entry are incomplete, those of the first prove the begin.
            (1024 + 511, 0, 512, 0),
            (1024 + 512, 1024, 512, 0),
            (1024 + 512 + 5000, 1024, 512, 5000 - OVERLAP),
            (archive.len(), 1024, 512, archive.len() - 1536 - OVERLAP),
        ] {
            let mut state = Received::default();
            archive[..received].chunks(777).for_each(|piece| state.add(piece).unwrap());
            let point = state.resume_point().unwrap();
            assert_eq!(
                (point.offset, point.headers, point.skip),
                (offset, headers, skip as u64),
                "{received}"
            );
            let start = offset as usize;
            let content = start + headers as usize;
            let expected = [&archive[start..content], &archive[content + skip..received]].concat();
            assert_eq!(point.repeated, expected, "{received}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_command_prints_the_rest_and_has_the_exit_code_of_tar() {
        use std::os::unix::fs::PermissionsExt;
        use std::process::{Command, Output};

        let folder = tempfile::tempdir().unwrap();
        let (archive, tar) = (folder.path().join("archive"), folder.path().join("tar"));
        std::fs::write(&archive, (0..6000_u32).map(|i| (i % 251) as u8).collect::<Vec<_>>()).unwrap();
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let run = |code: u8| -> Output {
            std::fs::write(&tar, format!("#!/bin/sh\ncat \"$3\"\nexit {code}\n")).unwrap();
            std::fs::set_permissions(&tar, std::fs::Permissions::from_mode(0o755)).unwrap();
            let point = ResumePoint { offset: 1000, headers: 512, skip: 700, repeated: Bytes::new() };
            let command = point.command(archive.to_str().unwrap());
            Command::new(&command[0]).args(&command[1..]).env("PATH", &path).output().unwrap()
        };
        let content = std::fs::read(&archive).unwrap();
        let expected = [&content[1000..1512], &content[1512 + 700..]].concat();
        for code in [0, 2, 137] {
            let output = run(code);
            assert_eq!(output.status.code(), Some(i32::from(code)), "{output:?}");
            assert!(output.stdout == expected && output.stderr.is_empty(), "{}", output.stdout.len());
        }
    }
}
