//! What can be set, at the start and while the cache is in use.

use std::fmt;
use std::sync::Arc;

use ptx_store::Size;

use crate::accounting::countable;
use crate::{FailureMemory, FamilyRetention, Retention};

/// A choice finds victims until the other entries fit this share of the budget. A lower share makes
/// choices rarer, and older by the time that they are used.
const LOW_WATER_PERCENT: u64 = 87;

/// Settings of a cache. All of them can be changed live, with
/// [`Cache::reconfigure`](crate::Cache::reconfigure).
#[derive(Clone)]
pub struct Config {
    /// How much may be resident. Never exceeded. At most 2^24 − 1 entries and 2^40 − 1 bytes count.
    pub budget: Size,
    /// Chooses who stays.
    pub retention: Arc<dyn Retention>,
    /// Failures that are remembered, so that a lowering that is sure to fail is not tried again
    /// on every request. None by default.
    pub failures: Option<FailureMemory>,
}

impl Default for Config {
    /// 16,384 entries, 256 MiB, and [`FamilyRetention`].
    fn default() -> Self {
        Self {
            budget: Size { entries: 16_384, bytes: 256 << 20 },
            retention: Arc::new(FamilyRetention::default()),
            failures: None,
        }
    }
}

impl Config {
    /// The default settings with this budget.
    pub fn with_budget(budget: Size) -> Self {
        Self { budget, ..Self::default() }
    }

    /// The size that the entries which are no victims fit.
    pub(crate) fn low_water(&self) -> Size {
        let Size { entries, bytes } = countable(self.budget);
        let share = |whole: u64| whole * LOW_WATER_PERCENT / 100;
        Size { entries: share(entries), bytes: share(bytes) }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("budget", &self.budget)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}
