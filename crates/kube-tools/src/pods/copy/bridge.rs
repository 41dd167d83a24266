//! Between a task and a thread that may block: bytes through a channel of a few pieces.

use std::io::{self, Read, Write};

use bytes::{Buf, Bytes};
use tokio::sync::mpsc;

/// Pieces on the way.
const PIECES: usize = 8;

/// The size of a piece that is written, in bytes.
const PIECE: usize = 32 << 10;

pub(super) fn channel() -> (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>) {
    mpsc::channel(PIECES)
}

/// Reads what a task sends. The end of the sender is the end of the bytes.
pub(super) struct PieceReader {
    pieces: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

impl PieceReader {
    pub(super) fn new(pieces: mpsc::Receiver<Bytes>) -> Self {
        Self { pieces, piece: Bytes::new() }
    }
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.piece.len());
        self.piece.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}

/// Writes to a task. A task that has ended is a broken pipe.
pub(super) struct PieceWriter {
    pieces: mpsc::Sender<Bytes>,
    piece: Vec<u8>,
}

impl PieceWriter {
    pub(super) fn new(pieces: mpsc::Sender<Bytes>) -> Self {
        Self { pieces, piece: Vec::with_capacity(PIECE) }
    }
}

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == PIECE {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.pieces.blocking_send(piece.into()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
