//! What can a thread do?

use crate::{BufferId, Expression, VariableId};

/// How the values of a workgroup's threads become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The largest value.
    Maximum,
}

/// One step of a thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Gives a variable a value of its type.
    Assign(VariableId, Expression),
    /// Writes an element of a buffer. An f32 narrows if the buffer holds halves.
    Store {
        /// The buffer.
        buffer: BufferId,
        /// The index of the element, a u32.
        index: Expression,
        /// The value.
        value: Expression,
    },
    /// Adds atomically to an element of a buffer of f32, u32 or i32.
    AtomicAdd {
        /// The buffer.
        buffer: BufferId,
        /// The index of the element, a u32.
        index: Expression,
        /// The addend.
        value: Expression,
    },
    /// Runs one of two blocks.
    If {
        /// A bool.
        condition: Expression,
        /// Runs if the condition is true.
        then: Vec<Statement>,
        /// Runs if the condition is false.
        otherwise: Vec<Statement>,
    },
    /// Runs a block for each value of a u32 variable. Both bounds are computed once, before the
    /// first iteration.
    For {
        /// The variable.
        variable: VariableId,
        /// The first value.
        from: Expression,
        /// The bound that the variable stays below.
        to: Expression,
        /// The increment after each iteration. Not zero.
        step: u32,
        /// Runs in each iteration.
        body: Vec<Statement>,
    },
    /// Waits for all threads of the workgroup. All must reach it.
    Barrier,
    /// Combines the values of all threads of the workgroup in a variable of each. All must reach it.
    Reduce {
        /// The variable, an f32.
        variable: VariableId,
        /// How the values combine.
        reduction: Reduction,
        /// The value of this thread.
        value: Expression,
    },
    /// Starts to copy one four-byte element from a storage buffer to a workgroup buffer. Past the
    /// end of the source it copies a zero. If the count of the source is known and copies are
    /// asynchronous, the code contains the count.
    AsyncCopy {
        /// The workgroup buffer.
        destination: BufferId,
        /// The index in the workgroup buffer, a u32.
        destination_index: Expression,
        /// The storage buffer.
        source: BufferId,
        /// The index in the storage buffer, a u32.
        source_index: Expression,
    },
    /// Groups the copies that started since the last group.
    AsyncCommit,
    /// Waits until at most this many of the thread's last groups are unfinished.
    AsyncWait(u32),
}
