//! How does a command print, and what happens when nobody reads?

use std::fmt::Display;
use std::io::{self, ErrorKind, StdoutLock, Write};

/// Standard output. It remembers that its reader is gone, as `head` is after its lines, so that
/// `main` ends quietly where `println!` would panic.
pub(crate) struct Output {
    stdout: StdoutLock<'static>,
    is_closed: bool,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { stdout: io::stdout().lock(), is_closed: false }
    }

    /// Returns true if a write found that nobody reads any more.
    pub(crate) const fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn noted<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        written.map_err(|error| {
            let kind = error.kind();
            self.is_closed |= kind == ErrorKind::BrokenPipe;
            // The standard library retries an interrupted write by its kind.
            io::Error::new(kind, format!("cannot write to standard output: {error}"))
        })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stdout.write(bytes);
        self.noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.stdout.flush();
        self.noted(flushed)
    }
}

/// Prints a line for a person on standard error. It is lost if nobody reads.
pub(crate) fn tell(message: impl Display) {
    let _ = writeln!(io::stderr().lock(), "ptx: {message}");
}
