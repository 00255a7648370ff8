//! What does a power cut leave?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::state::{Node, State};

/// Bytes that a medium writes in one piece.
const SECTOR: usize = 512;

/// How much of the unsynced state a power cut leaves. File systems differ, so a store must be right
/// after each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    Synced,
    /// Names, but not the bytes: a new name for an empty file.
    Names,
    /// Names and lengths, with zeros for the bytes.
    NamesAndLengths,
    /// All of it, as after the death of a process.
    Everything,
    /// Each name and each sector of 512 bytes at random, with this seed.
    Some(u64),
}

impl Survival {
    /// Changes `state` to what the next start finds.
    pub(super) fn apply(self, state: &mut State) {
        let mut coin = fastrand::Rng::with_seed(match self {
            Self::Some(seed) => seed,
            _ => 0,
        });
        state.names = surviving_names(state, self, &mut coin);
        state.synced_names = state.names.clone();
        for node in state.files.values_mut() {
            node.bytes = surviving_bytes(node, self, &mut coin);
            node.synced_bytes.clone_from(&node.bytes);
        }
    }
}

fn surviving_names(
    state: &State,
    survival: Survival,
    coin: &mut fastrand::Rng,
) -> BTreeMap<PathBuf, u64> {
    let chosen: BTreeMap<PathBuf, u64> = match survival {
        Survival::Synced => state.synced_names.clone(),
        Survival::Names | Survival::NamesAndLengths | Survival::Everything => state.names.clone(),
        Survival::Some(_) => {
            let both = state.names.keys().chain(state.synced_names.keys());
            let toss = |path: &PathBuf| {
                let names = if coin.bool() { &state.names } else { &state.synced_names };
                Some((path.clone(), *names.get(path)?))
            };
            both.filter_map(toss).collect()
        }
    };
    let reachable = |path: &Path| path.ancestors().all(|above| chosen.contains_key(above));
    let mut names = chosen.clone();
    names.retain(|path, _| reachable(path));
    names
}

fn surviving_bytes(node: &Node, survival: Survival, coin: &mut fastrand::Rng) -> Vec<u8> {
    match survival {
        Survival::Synced | Survival::Names => node.synced_bytes.clone(),
        Survival::Everything => node.bytes.clone(),
        Survival::NamesAndLengths => {
            let mut bytes = node.synced_bytes.clone();
            bytes.resize(node.bytes.len(), 0);
            bytes
        }
        Survival::Some(_) => {
            let mut old = node.synced_bytes.clone();
            old.resize(node.bytes.len(), 0);
            let sectors = node.bytes.chunks(SECTOR).zip(old.chunks(SECTOR));
            sectors.flat_map(|(new, old)| if coin.bool() { new } else { old }).copied().collect()
        }
    }
}
