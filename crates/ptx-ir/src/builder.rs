//! How is a kernel written statement by statement?

use crate::{
    Access, Axis, Buffer, BufferId, Element, Expression, Index, KernelParts, Reduction, Statement,
    Type, VariableId,
};

/// The thread's index along x in the whole launch.
pub fn x() -> Expression {
    Expression::Position(Index::Global, Axis::X)
}

impl KernelParts {
    /// Starts a kernel that has no buffers and does nothing.
    pub fn new(name: &str, workgroup: [u32; 3]) -> Self {
        Self {
            name: name.to_owned(),
            workgroup,
            fixed_workgroup: false,
            buffers: Vec::new(),
            variables: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Binds a buffer to a slot.
    pub fn buffer(
        &mut self,
        slot: u32,
        access: Access,
        element: Element,
        count: Option<u32>,
    ) -> BufferId {
        self.buffers.push(Buffer { slot, access, element, count });
        BufferId(last(self.buffers.len()))
    }

    /// Declares a variable and assigns it a value of its type.
    pub fn variable(&mut self, kind: Type, value: impl Into<Expression>) -> VariableId {
        let variable = self.declare(kind);
        self.assign(variable, value);
        variable
    }

    /// Gives a variable a value.
    pub fn assign(&mut self, variable: VariableId, value: impl Into<Expression>) {
        self.body.push(Statement::Assign(variable, value.into()));
    }

    /// Writes an element of a buffer.
    pub fn store(
        &mut self,
        buffer: BufferId,
        index: impl Into<Expression>,
        value: impl Into<Expression>,
    ) {
        self.body.push(Statement::Store { buffer, index: index.into(), value: value.into() });
    }

    /// Adds atomically to an element of a buffer.
    pub fn atomic_add(
        &mut self,
        buffer: BufferId,
        index: impl Into<Expression>,
        value: impl Into<Expression>,
    ) {
        self.body.push(Statement::AtomicAdd { buffer, index: index.into(), value: value.into() });
    }

    /// Combines the values of the workgroup's threads in a new variable.
    pub fn reduce(&mut self, reduction: Reduction, value: impl Into<Expression>) -> VariableId {
        let variable = self.declare(Type::F32);
        self.body.push(Statement::Reduce { variable, reduction, value: value.into() });
        variable
    }

    /// Runs what `then` appends if the condition is true.
    pub fn when(&mut self, condition: Expression, then: impl FnOnce(&mut Self)) {
        let then = self.block(then);
        self.body.push(Statement::If { condition, then, otherwise: Vec::new() });
    }

    /// Runs what `body` appends for each value of a new variable, from `from` to below `to`.
    pub fn repeat(
        &mut self,
        from: impl Into<Expression>,
        to: impl Into<Expression>,
        step: u32,
        body: impl FnOnce(&mut Self, VariableId),
    ) {
        let variable = self.declare(Type::U32);
        let body = self.block(|kernel| body(kernel, variable));
        let (from, to) = (from.into(), to.into());
        self.body.push(Statement::For { variable, from, to, step, body });
    }

    fn declare(&mut self, kind: Type) -> VariableId {
        self.variables.push(kind);
        VariableId(last(self.variables.len()))
    }

    fn block(&mut self, content: impl FnOnce(&mut Self)) -> Vec<Statement> {
        let outer = std::mem::take(&mut self.body);
        content(self);
        std::mem::replace(&mut self.body, outer)
    }
}

/// The position of the last of `count` items. Memory holds fewer than 2^32 of them.
fn last(count: usize) -> u32 {
    u32::try_from(count.saturating_sub(1)).unwrap_or(u32::MAX)
}
