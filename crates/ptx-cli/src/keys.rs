//! Which key do a few of its digits name?

use std::fmt;
use std::str::FromStr;

use anyhow::{bail, ensure};
use ptx_disk::{DiskStore, EntryKey};
use ptx_key::{Digest, PtxKey};

/// As few as git takes.
const FEWEST_DIGITS: usize = 4;
const ALL_DIGITS: usize = 64;
/// How many candidates are listed.
const SHOWN: usize = 20;

/// A key, or its first digits as this tool prints them. Has 4 to 64 lower-case hexadecimal digits.
#[derive(Clone, Debug)]
pub(crate) struct KeyDigits(String);

impl FromStr for KeyDigits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_key = (FEWEST_DIGITS..=ALL_DIGITS).contains(&text.len())
            && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        if is_key {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(format!(
                "`{text}` is not a key: a key has 64 hexadecimal digits, of which the first \
                 {FEWEST_DIGITS} or more are enough if no other key has them"
            ))
        }
    }
}

impl fmt::Display for KeyDigits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl KeyDigits {
    /// The key of a text or a cubin.
    pub(crate) fn any(&self, store: &DiskStore) -> anyhow::Result<Digest> {
        self.find(store, |_| true)
    }

    /// The key of a text.
    pub(crate) fn ptx(&self, store: &DiskStore) -> anyhow::Result<PtxKey> {
        let digest = self.find(store, |key| matches!(key, EntryKey::Ptx(_)))?;
        Ok(PtxKey::from_bytes(*digest.as_bytes()))
    }

    /// The only key of the store that starts with these digits. Takes all 64 without a look into
    /// the store.
    fn find(
        &self,
        store: &DiskStore,
        is_wanted: impl Fn(&EntryKey) -> bool,
    ) -> anyhow::Result<Digest> {
        if self.0.len() == ALL_DIGITS {
            return Ok(self.0.parse()?);
        }
        let mut candidates = store.keys()?;
        candidates.retain(|key| is_wanted(key) && key.to_string().starts_with(&self.0));
        // A text and a cubin under the same digits are one answer.
        let mut digests: Vec<&[u8; 32]> = candidates.iter().map(EntryKey::as_bytes).collect();
        digests.dedup();
        match *digests {
            [] => bail!("the store has no entry of {self}"),
            [digest] => return Ok(Digest::from_bytes(*digest)),
            _ => {}
        }
        let lines = candidates.iter().take(SHOWN).map(|key| format!("\n  {key} {}", key.kind()));
        let lines: String = lines.collect();
        let message =
            format!("{self} is the start of several keys: give more digits of one{lines}");
        let more = candidates.len().saturating_sub(SHOWN);
        ensure!(more == 0, "{message}\n  and {more} more");
        bail!(message)
    }
}
