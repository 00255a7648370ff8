//! Chooses which entries stay: monotone submodular maximisation under count and byte budgets.
