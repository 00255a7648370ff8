//! Child processes: a test runs its own binary again, with a role to play.

use std::path::PathBuf;
use std::process::{Command, Stdio};

const ROLE: &str = "PTX_TEST_ROLE";

/// A part that a test plays in a process of its own.
///
/// The test that plays it is an ordinary test, which returns at once unless it was started in the
/// role:
///
/// ```no_run
/// use ptx_tests::Role;
///
/// const WRITER: Role = Role::new("disk_crash::writer");
///
/// # #[allow(clippy::test_attr_in_doctest)]
/// #[test]
/// fn writer() {
///     let Some(folder) = WRITER.argument() else { return };
///     // … what the process does, until it is killed
/// }
/// # fn start() -> std::io::Result<()> {
/// let child = WRITER.command("a/folder")?.spawn()?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Role {
    test: &'static str,
}

impl Role {
    /// The role that is played by the test of this full name, such as `disk_crash::writer`.
    pub const fn new(test: &'static str) -> Self {
        Self { test }
    }

    /// What the process was given, if it was started in this role.
    pub fn argument(&self) -> Option<String> {
        let role = std::env::var(ROLE).ok()?;
        let argument = role.strip_prefix(self.test)?.strip_prefix('=')?;
        Some(argument.to_owned())
    }

    /// A command that starts this binary again in the role. Its standard output is piped, so that
    /// the parent can wait for a line.
    ///
    /// # Errors
    ///
    /// Where the binary's own path cannot be told.
    pub fn command(&self, argument: &str) -> std::io::Result<Command> {
        let myself: PathBuf = std::env::current_exe()?;
        let mut command = Command::new(myself);
        command
            .args([self.test, "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, format!("{}={argument}", self.test))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::Role;

    const ECHO: Role = Role::new("child::tests::echo");

    #[test]
    fn echo() {
        if let Some(argument) = ECHO.argument() {
            println!("played with {argument}");
        }
    }

    #[test]
    fn a_role_is_played_by_a_process_of_its_own() {
        let output = ECHO.command("these = words").unwrap().output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("played with these = words"));
    }
}
