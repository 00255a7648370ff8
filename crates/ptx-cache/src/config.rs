//! What can be set, at the start and while the cache is in use.

use std::fmt;
use std::sync::Arc;

use crate::{Budget, FailureMemory, FamilyRetention, Retention};

/// Settings of a cache. All of them can be changed live, with
/// [`Cache::reconfigure`](crate::Cache::reconfigure).
#[derive(Clone)]
pub struct Config {
    /// How much may be resident. Never exceeded.
    pub budget: Budget,
    /// When an insertion meets a full budget, it is chosen who is to go for the others to be within
    /// this share of it, in percent, so that the choice is paid for once in many insertions. Those
    /// go one by one, as room is needed. Between 0 and 100.
    pub low_water_percent: u8,
    /// Chooses who stays.
    pub retention: Arc<dyn Retention>,
    /// Failures that are remembered, so that a lowering that is sure to fail is not tried again
    /// on every request. None by default.
    pub failures: Option<FailureMemory>,
}

impl Default for Config {
    /// 16,384 entries, 256 MiB, low water at 87 percent, and [`FamilyRetention`].
    fn default() -> Self {
        Self {
            budget: Budget { entries: 16_384, bytes: 256 << 20 },
            low_water_percent: 87,
            retention: Arc::new(FamilyRetention::default()),
            failures: None,
        }
    }
}

impl Config {
    /// The default settings with this budget.
    pub fn with_budget(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// What those who are not chosen to go are within.
    pub(crate) fn low_water(&self) -> Budget {
        let percent = u64::from(self.low_water_percent.min(100));
        let Budget { entries, bytes } = self.budget.countable();
        Budget { entries: entries * percent / 100, bytes: bytes * percent / 100 }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("budget", &self.budget)
            .field("low_water_percent", &self.low_water_percent)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}
