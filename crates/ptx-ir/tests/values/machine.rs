//! How does a GPU run a program? This one runs one workgroup at a time. It panics where a GPU is
//! silent or undefined: an access outside of a buffer, two threads at one place of workgroup memory
//! without a barrier between them, a copy that no one waits for, a barrier or shuffle that not all
//! threads reach.

use std::collections::HashMap;

use crate::memory::{GlobalMemory, SharedMemory};
use crate::operation::{Operation, Space};
use crate::program::{Instruction, Operand, Program};

/// The most instructions of one thread. More is an endless loop.
const MOST_STEPS: u32 = 1_000_000;

/// The order in which threads and workgroups run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Forward,
    Backward,
}

pub(crate) struct Machine<'p> {
    pub(crate) program: &'p Program,
    pub(crate) parameters: &'p HashMap<String, u64>,
    pub(crate) global: GlobalMemory,
    shared: SharedMemory,
    grid: [u32; 3],
    workgroup: [u32; 3],
}

struct Thread {
    place: [u32; 3],
    number: usize,
    registers: Vec<u64>,
    next: usize,
    steps: u32,
    /// Copies outside of a group: the address in workgroup memory and the value for it.
    begun: Vec<(u64, u32)>,
    groups: Vec<Vec<(u64, u32)>>,
}

/// Why a thread stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    Barrier,
    Shuffle,
    End,
}

impl<'p> Machine<'p> {
    pub(crate) fn new(
        program: &'p Program,
        parameters: &'p HashMap<String, u64>,
        global: GlobalMemory,
    ) -> Self {
        let shared = SharedMemory::new(program.shared_bytes);
        Self { program, parameters, global, shared, grid: [0; 3], workgroup: [0; 3] }
    }

    pub(crate) fn launch(&mut self, grid: [u32; 3], order: Order) {
        self.grid = grid;
        let mut workgroups = positions(grid);
        if order == Order::Backward {
            workgroups.reverse();
        }
        for workgroup in workgroups {
            self.workgroup = workgroup;
            self.shared = SharedMemory::new(self.program.shared_bytes);
            self.run_workgroup(order);
        }
    }

    fn run_workgroup(&mut self, order: Order) {
        let places = positions(self.program.threads).into_iter().enumerate();
        let mut threads: Vec<Thread> =
            places.map(|(number, place)| Thread::new(number, place, self.program)).collect();
        if order == Order::Backward {
            threads.reverse();
        }
        loop {
            let stops: Vec<Stop> = threads.iter_mut().map(|thread| self.run(thread)).collect();
            let next = threads[0].next;
            let together = threads.iter().all(|thread| thread.next == next);
            assert!(
                together && stops.iter().all(|stop| *stop == stops[0]),
                "threads stop at different places"
            );
            match stops[0] {
                Stop::End => return,
                Stop::Barrier => self.shared.barrier(),
                Stop::Shuffle => self.shuffle(&mut threads),
            }
            for thread in &mut threads {
                thread.next += 1;
            }
        }
    }

    /// All threads stand at the same shuffle.
    fn shuffle(&self, threads: &mut [Thread]) {
        let instruction = &self.program.code[threads[0].next];
        let [to, from, distance, clamp, members] = instruction.operands.as_slice() else {
            panic!("{}", instruction.text)
        };
        let constant = |operand: &Operand| self.read(&threads[0], operand) as usize;
        let (distance, clamp, members) = (constant(distance), constant(clamp), constant(members));
        assert_eq!(members, 0xffff_ffff, "all lanes take part");
        let sent: HashMap<usize, u64> =
            threads.iter().map(|it| (it.number, self.read(it, from))).collect();
        for thread in threads {
            // "Clamp bits 4..0, segment mask 12..8": past the segment a lane keeps its own value.
            let (warp, lane) = (thread.number & !31, thread.number & 31);
            let (segments, last) = (clamp >> 8 & 31, clamp & 31);
            let most = (lane & segments) | (last & !segments);
            let other = lane ^ distance;
            let source = warp | if other <= most { other } else { lane };
            let received = sent.get(&source).expect("a lane that does not exist is asked");
            thread.set(to, *received);
        }
    }

    fn run(&mut self, thread: &mut Thread) -> Stop {
        loop {
            let instruction = &self.program.code[thread.next];
            thread.steps += 1;
            assert!(thread.steps < MOST_STEPS, "endless: {}", instruction.text);
            let skipped = instruction
                .guard
                .is_some_and(|(predicate, wanted)| (thread.registers[predicate] == 1) != wanted);
            if skipped {
                thread.next += 1;
                continue;
            }
            match instruction.operation {
                Operation::Barrier => return Stop::Barrier,
                Operation::Shuffle => return Stop::Shuffle,
                Operation::Return => return Stop::End,
                Operation::Branch => match instruction.operands.as_slice() {
                    [Operand::Target(place)] => thread.next = *place,
                    _ => panic!("{}", instruction.text),
                },
                _ => {
                    self.step(thread, instruction);
                    thread.next += 1;
                }
            }
        }
    }

    fn step(&mut self, thread: &mut Thread, instruction: &Instruction) {
        let operands = instruction.operands.as_slice();
        match (instruction.operation, operands) {
            (Operation::One(function), [to, a]) => thread.set(to, function(self.read(thread, a))),
            (Operation::Two(function), [to, a, b]) => {
                thread.set(to, function(self.read(thread, a), self.read(thread, b)));
            }
            (Operation::Three(function), [to, a, b, c]) => {
                let (a, b, c) = (self.read(thread, a), self.read(thread, b), self.read(thread, c));
                thread.set(to, function(a, b, c));
            }
            (Operation::LoadParameter, [to, Operand::Parameter(parameter)]) => {
                let name = &self.program.parameters[*parameter];
                thread.set(to, self.parameters[name]);
            }
            (Operation::Load(space, bytes), [to, from]) => {
                let address = thread.address(from);
                let value = match space {
                    Space::Global => self.global.load(address, bytes),
                    Space::Shared => self.shared.load(address, bytes, thread.number),
                };
                thread.set(to, value.into());
            }
            (Operation::Store(space, bytes), [to, value]) => {
                let (address, value) = (thread.address(to), self.read(thread, value) as u32);
                match space {
                    Space::Global => self.global.store(address, bytes, value),
                    Space::Shared => self.shared.store(address, bytes, value, thread.number),
                }
            }
            (Operation::Update(space, function), [to, value]) => {
                let (address, value) = (thread.address(to), self.read(thread, value) as u32);
                match space {
                    Space::Global => {
                        let before = self.global.load(address, 4);
                        self.global.store(address, 4, function(before, value));
                    }
                    Space::Shared => self.shared.update(address, value, function),
                }
            }
            (Operation::CopyAsync, [to, from, Operand::Constant(4), size]) => {
                let (to, from) = (thread.address(to), thread.address(from));
                let value = match self.read(thread, size) {
                    0 => 0,
                    size => self.global.load(from, size as usize),
                };
                self.shared.begin_copy(to);
                thread.begun.push((to, value));
            }
            (Operation::CommitCopies, []) => {
                let group = std::mem::take(&mut thread.begun);
                thread.groups.push(group);
            }
            (Operation::WaitForCopies, [Operand::Constant(groups)]) => {
                let arrived = thread.groups.len().saturating_sub(*groups as usize);
                let arrived: Vec<_> = thread.groups.drain(..arrived).flatten().collect();
                self.arrive(arrived, thread.number);
            }
            (Operation::WaitForAllCopies, []) => {
                let mut arrived: Vec<_> = thread.groups.drain(..).flatten().collect();
                arrived.append(&mut thread.begun);
                self.arrive(arrived, thread.number);
            }
            _ => panic!("{}", instruction.text),
        }
    }

    fn arrive(&mut self, copies: Vec<(u64, u32)>, thread: usize) {
        for (address, value) in copies {
            self.shared.end_copy(address);
            self.shared.store(address, 4, value, thread);
        }
    }

    fn read(&self, thread: &Thread, operand: &Operand) -> u64 {
        match *operand {
            Operand::Register(number) => thread.registers[number],
            Operand::Pair(low, high) => thread.registers[low] | thread.registers[high] << 16,
            Operand::Constant(value) => value,
            Operand::Thread(axis) => thread.place[axis].into(),
            Operand::Workgroup(axis) => self.workgroup[axis].into(),
            Operand::Grid(axis) => self.grid[axis].into(),
            _ => panic!("no value: {operand:?}"),
        }
    }
}

impl Thread {
    fn new(number: usize, place: [u32; 3], program: &Program) -> Self {
        // A register that is read before it is written holds nonsense.
        let registers = vec![0xbad_cafe; program.registers];
        let (begun, groups) = (Vec::new(), Vec::new());
        Self { place, number, registers, next: 0, steps: 0, begun, groups }
    }

    fn set(&mut self, to: &Operand, value: u64) {
        match to {
            Operand::Register(number) => self.registers[*number] = value,
            _ => panic!("no register: {to:?}"),
        }
    }

    fn address(&self, operand: &Operand) -> u64 {
        match operand {
            Operand::Memory { base, offset } => {
                base.map_or(0, |register| self.registers[register]) + offset
            }
            _ => panic!("no address: {operand:?}"),
        }
    }
}

/// Returns all positions within these extents, x first.
fn positions([x, y, z]: [u32; 3]) -> Vec<[u32; 3]> {
    (0..z).flat_map(|z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z]))).collect()
}
