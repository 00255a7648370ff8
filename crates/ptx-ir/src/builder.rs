//! Building a kernel statement by statement.

use crate::{
    Access, Axis, Buffer, BufferId, Element, Expression, Index, Kernel, KernelParts, LowerError,
    Reduction, Statement, Type, VariableId, Workgroup,
};

/// Builds a kernel in the order in which it is read.
///
/// ```
/// use ptx_ir::{Access, Element, KernelBuilder, x};
///
/// let mut kernel = KernelBuilder::new("double", [256, 1, 1]);
/// let values = kernel.buffer(0, Access::ReadWrite, Element::F32, None);
/// let i = kernel.variable(x());
/// kernel.when(i.value().less(values.length()), |kernel| {
///     kernel.store(values, i, values.at(i) * 2.0);
/// });
/// let kernel = kernel.finish()?;
/// # assert_eq!(kernel.name(), "double");
/// # Ok::<(), ptx_ir::LowerError>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelBuilder {
    parts: KernelParts,
}

/// This thread's index in x over the whole launch.
pub fn x() -> Expression {
    Expression::Position(Index::Global, Axis::X)
}

/// This thread's index in y over the whole launch.
pub fn y() -> Expression {
    Expression::Position(Index::Global, Axis::Y)
}

/// This thread's index in its workgroup.
pub fn local(axis: Axis) -> Expression {
    Expression::Position(Index::Local, axis)
}

/// This workgroup's index among all.
pub fn workgroup(axis: Axis) -> Expression {
    Expression::Position(Index::Workgroup, axis)
}

impl KernelBuilder {
    /// A kernel of this name, for workgroups of this size unless a dispatch policy overrides it.
    pub fn new(name: &str, workgroup: [u32; 3]) -> Self {
        let parts = KernelParts {
            name: name.to_owned(),
            workgroup: Workgroup { size: workgroup, fixed: false },
            buffers: Vec::new(),
            variables: Vec::new(),
            body: Vec::new(),
        };
        Self { parts }
    }

    /// Says that the kernel is written for just this workgroup size.
    pub fn fix_workgroup(&mut self) {
        self.parts.workgroup.fixed = true;
    }

    /// Binds a buffer to a slot.
    pub fn buffer(
        &mut self,
        slot: u32,
        access: Access,
        element: Element,
        count: Option<u32>,
    ) -> BufferId {
        self.parts.buffers.push(Buffer { slot, access, element, count });
        BufferId(last(self.parts.buffers.len()))
    }

    /// Declares a variable of this type, zero until it is assigned.
    pub fn declare(&mut self, kind: Type) -> VariableId {
        self.parts.variables.push(kind);
        VariableId(last(self.parts.variables.len()))
    }

    /// Declares a u32 and assigns it.
    pub fn variable(&mut self, value: impl Into<Expression>) -> VariableId {
        let variable = self.declare(Type::U32);
        self.assign(variable, value);
        variable
    }

    /// Declares an f32 and assigns it.
    pub fn float(&mut self, value: impl Into<Expression>) -> VariableId {
        let variable = self.declare(Type::F32);
        self.assign(variable, value);
        variable
    }

    /// Appends any statement.
    pub fn push(&mut self, statement: Statement) {
        self.parts.body.push(statement);
    }

    /// Gives a variable a value.
    pub fn assign(&mut self, variable: VariableId, value: impl Into<Expression>) {
        self.push(Statement::Assign(variable, value.into()));
    }

    /// Writes an element.
    pub fn store(
        &mut self,
        buffer: BufferId,
        index: impl Into<Expression>,
        value: impl Into<Expression>,
    ) {
        self.push(Statement::Store { buffer, index: index.into(), value: value.into() });
    }

    /// Adds to an element in one step.
    pub fn atomic_add(
        &mut self,
        buffer: BufferId,
        index: impl Into<Expression>,
        value: impl Into<Expression>,
    ) {
        self.push(Statement::AtomicAdd { buffer, index: index.into(), value: value.into() });
    }

    /// Waits for the workgroup.
    pub fn barrier(&mut self) {
        self.push(Statement::Barrier);
    }

    /// What the workgroup's values make together, in a new variable.
    pub fn reduce(&mut self, reduction: Reduction, value: impl Into<Expression>) -> VariableId {
        let variable = self.declare(Type::F32);
        self.push(Statement::Reduce { variable, reduction, value: value.into() });
        variable
    }

    /// Does what `then` appends where the condition is true.
    pub fn when(&mut self, condition: Expression, then: impl FnOnce(&mut Self)) {
        let then = self.block(then);
        self.push(Statement::If { condition, then, otherwise: Vec::new() });
    }

    /// Does what `body` appends for each value of a new variable, from `from` to below `to`.
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
        self.push(Statement::For { variable, from, to, step, body });
    }

    /// Checks the kernel.
    ///
    /// # Errors
    ///
    /// See [`Kernel::new`].
    pub fn finish(self) -> Result<Kernel, LowerError> {
        Kernel::new(self.parts)
    }

    fn block(&mut self, content: impl FnOnce(&mut Self)) -> Vec<Statement> {
        let outer = std::mem::take(&mut self.parts.body);
        content(self);
        std::mem::replace(&mut self.parts.body, outer)
    }
}

/// The position of the last of `count` things. More than 2^32 of them do not fit a machine.
fn last(count: usize) -> u32 {
    u32::try_from(count.saturating_sub(1)).unwrap_or(u32::MAX)
}
