//! Statements: what a thread does.

use crate::{BufferId, Expression, VariableId};

/// How a workgroup's values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// The largest.
    Maximum,
}

/// What a thread does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Gives a variable a value of its type.
    Assign(VariableId, Expression),
    /// Writes an element of a buffer. An f32 narrows to a half where the buffer holds halves.
    Store {
        /// The buffer.
        buffer: BufferId,
        /// The element, a u32.
        index: Expression,
        /// The value.
        value: Expression,
    },
    /// Adds to an element of a buffer of f32, u32 or i32, as one step.
    AtomicAdd {
        /// The buffer.
        buffer: BufferId,
        /// The element, a u32.
        index: Expression,
        /// What is added.
        value: Expression,
    },
    /// Goes on in one of two ways.
    If {
        /// A truth value.
        condition: Expression,
        /// What is done where it is true.
        then: Vec<Statement>,
        /// What is done where it is not.
        otherwise: Vec<Statement>,
    },
    /// Counts a u32 variable up. All bounds are taken once, before the first turn.
    For {
        /// The variable.
        variable: VariableId,
        /// Its first value.
        from: Expression,
        /// The value that it stays below.
        to: Expression,
        /// What is added after each turn; not zero.
        step: u32,
        /// What is done in each turn.
        body: Vec<Statement>,
    },
    /// Waits for every thread of the workgroup, which all must come here.
    Barrier,
    /// Gives a variable what the values of all threads of the workgroup make together. All must
    /// come here.
    Reduce {
        /// The variable: an f32.
        variable: VariableId,
        /// How.
        reduction: Reduction,
        /// This thread's value.
        value: Expression,
    },
    /// Begins to copy one four-byte element from a storage buffer to a workgroup buffer. Beyond the
    /// source's end it is a zero. Where the source's count is known and copies are asynchronous,
    /// the count becomes a part of the code.
    AsyncCopy {
        /// The workgroup buffer.
        destination: BufferId,
        /// The element there, a u32.
        destination_index: Expression,
        /// The storage buffer.
        source: BufferId,
        /// The element there, a u32.
        source_index: Expression,
    },
    /// Makes a group of the copies that were begun since the last one.
    AsyncCommit,
    /// Waits until at most this many of the thread's groups, the last ones, are under way.
    AsyncWait(u32),
}
