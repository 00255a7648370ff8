//! What do read-only tiers below the store's directory hold?

use std::path::Path;
use std::sync::Arc;

use ptx_store::{Artifact, ArtifactKey};

use crate::DiskError;
use crate::bundle::Bundle;
use crate::error::OnPath as _;
use crate::format::layout::Layout;
use crate::read::entry_file::{Found, read};
use crate::storage::{FileKind, Storage};

/// A bundle, or the directory of another store. Neither is ever changed.
#[derive(Debug)]
pub(crate) enum Layer {
    Bundle(Bundle),
    Directory { storage: Arc<dyn Storage>, layout: Layout },
}

impl Layer {
    pub(crate) fn open(storage: &Arc<dyn Storage>, path: &Path) -> Result<Self, DiskError> {
        let metadata = storage.metadata(&path.join(".")).or_else(|_| storage.metadata(path));
        if metadata.on("read the metadata of", path)?.kind == FileKind::Directory {
            let layout = Layout::new(path.to_owned());
            return Ok(Self::Directory { storage: Arc::clone(storage), layout });
        }
        Bundle::open_on(&**storage, path).map(Self::Bundle)
    }

    /// Loads the artifact of `key`. Damage is a miss: the layer's owner repairs it.
    pub(crate) fn load<K: ArtifactKey>(
        &self,
        key: &K,
        most_bytes: u64,
    ) -> Option<Artifact<K::Payload>> {
        let key = &(*key).into();
        let stored = match self {
            Self::Bundle(bundle) => bundle.stored(key, most_bytes).ok()??,
            Self::Directory { storage, layout } => {
                match read(&**storage, &layout.entry(key), key, most_bytes).ok()? {
                    Found::Whole(stored, _) => *stored,
                    _ => return None,
                }
            }
        };
        stored.artifact::<K>().ok()?
    }
}
