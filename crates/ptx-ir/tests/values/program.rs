//! Which instructions does a PTX text hold? It panics on what the emitter never writes.

use std::collections::HashMap;

use crate::operation::Operation;

/// One entry of a module.
pub(crate) struct Program {
    pub(crate) code: Vec<Instruction>,
    pub(crate) registers: usize,
    pub(crate) parameters: Vec<String>,
    pub(crate) shared_bytes: usize,
    pub(crate) threads: [u32; 3],
}

pub(crate) struct Instruction {
    /// The line, for messages.
    pub(crate) text: String,
    /// A predicate and the value that it must have.
    pub(crate) guard: Option<(usize, bool)>,
    pub(crate) operation: Operation,
    pub(crate) operands: Vec<Operand>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    Register(usize),
    /// Two halves, the lower first.
    Pair(usize, usize),
    Constant(u64),
    /// `%tid`, `%ctaid` and `%nctaid`, and the axis.
    Thread(usize),
    Workgroup(usize),
    Grid(usize),
    Parameter(usize),
    Memory {
        base: Option<usize>,
        offset: u64,
    },
    /// The number of the next instruction.
    Target(usize),
}

/// The meaning of names.
#[derive(Default)]
struct Names {
    /// By prefix: the number of the first register, and how many there are.
    registers: HashMap<String, (usize, usize)>,
    shared: HashMap<String, u64>,
    parameters: HashMap<String, usize>,
    labels: HashMap<String, usize>,
}

/// The first words of lines that compute and declare nothing.
const STRUCTURE: [&str; 9] =
    [".version", ".target", ".address_size", ".visible", ".pragma", ")", "{", "}", "//"];

impl Program {
    pub(crate) fn parse(text: &str) -> Self {
        let mut names = Names::default();
        let mut program = Self {
            code: Vec::new(),
            registers: 0,
            parameters: Vec::new(),
            shared_bytes: 0,
            threads: [0; 3],
        };
        let mut instructions = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(label) = line.strip_suffix(':') {
                names.labels.insert(label.to_owned(), instructions.len());
            } else if !program.declaration(line, &mut names) {
                instructions.push(line);
            }
        }
        program.code = instructions.into_iter().map(|line| instruction(line, &names)).collect();
        program
    }

    /// Notes what the line declares. Returns false if it is an instruction.
    fn declaration(&mut self, line: &str, names: &mut Names) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [".reg", _, name] => {
                let (prefix, count) = name.trim_end_matches(">;").split_once('<').unwrap();
                let count = count.parse().unwrap();
                names.registers.insert(prefix.to_owned(), (self.registers, count));
                self.registers += count;
            }
            [".shared", ".align", "16", ".b8", name] => {
                let (name, bytes) = name.trim_end_matches("];").split_once('[').unwrap();
                names.shared.insert(name.to_owned(), self.shared_bytes as u64);
                let bytes: usize = bytes.parse().unwrap();
                self.shared_bytes += bytes.next_multiple_of(16);
            }
            [".param", _, name] => {
                let name = name.trim_end_matches(',').to_owned();
                names.parameters.insert(name.clone(), self.parameters.len());
                self.parameters.push(name);
            }
            [".reqntid", extents @ ..] => {
                let extents: Vec<u32> =
                    extents.iter().map(|it| it.trim_end_matches(',').parse().unwrap()).collect();
                self.threads = extents.try_into().unwrap();
            }
            [] => {}
            [word, ..] if STRUCTURE.contains(word) => {}
            _ => return false,
        }
        true
    }
}

fn instruction(line: &str, names: &Names) -> Instruction {
    let text = line.strip_suffix(';').unwrap_or_else(|| panic!("not an instruction: {line}"));
    let (guard, text) = match text.strip_prefix('@') {
        None => (None, text),
        Some(guarded) => {
            let (predicate, text) = guarded.split_once(' ').unwrap();
            let wanted = !predicate.starts_with('!');
            (Some((names.register(predicate.trim_start_matches('!')), wanted)), text)
        }
    };
    let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
    Instruction {
        text: line.to_owned(),
        guard,
        operation: Operation::named(name),
        operands: split(operands).into_iter().map(|operand| names.operand(operand)).collect(),
    }
}

/// Splits operands at the commas outside of braces.
fn split(operands: &str) -> Vec<&str> {
    let mut inside = false;
    let parts = operands.split(move |letter| {
        inside = (inside || letter == '{') && letter != '}';
        letter == ',' && !inside
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

impl Names {
    fn register(&self, name: &str) -> usize {
        let prefix = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let declared = self.registers.get(prefix);
        let (first, count) = declared.unwrap_or_else(|| panic!("`{name}` is not declared"));
        let number: usize = name[prefix.len()..].parse().unwrap();
        assert!(number < *count, "`{name}` is not declared");
        first + number
    }

    fn operand(&self, text: &str) -> Operand {
        if let Some(inner) = text.strip_prefix('[') {
            return self.memory(inner.strip_suffix(']').unwrap());
        }
        if let Some(inner) = text.strip_prefix('{') {
            let (low, high) = inner.strip_suffix('}').unwrap().split_once(", ").unwrap();
            return Operand::Pair(self.register(low), self.register(high));
        }
        if let Some(bits) = text.strip_prefix("0f") {
            return Operand::Constant(u64::from_str_radix(bits, 16).unwrap());
        }
        if let Some(bits) = text.strip_prefix("0x") {
            return Operand::Constant(u64::from_str_radix(bits, 16).unwrap());
        }
        if let Some((special, axis)) = text.split_once('.') {
            let axis = ["x", "y", "z"].iter().position(|name| *name == axis).unwrap();
            return match special {
                "%tid" => Operand::Thread(axis),
                "%ctaid" => Operand::Workgroup(axis),
                "%nctaid" => Operand::Grid(axis),
                _ => panic!("not an operand: {text}"),
            };
        }
        if text.starts_with('%') {
            return Operand::Register(self.register(text));
        }
        if let Some(place) = self.labels.get(text) {
            return Operand::Target(*place);
        }
        if let Some(address) = self.shared.get(text) {
            return Operand::Constant(*address);
        }
        let number: i64 = text.parse().unwrap_or_else(|_| panic!("not an operand: {text}"));
        Operand::Constant(number.cast_unsigned() & 0xffff_ffff)
    }

    fn memory(&self, text: &str) -> Operand {
        let (base, offset) = text.split_once('+').unwrap_or((text, "0"));
        let offset: u64 = offset.parse().unwrap();
        if let Some(parameter) = self.parameters.get(base) {
            Operand::Parameter(*parameter)
        } else if let Some(address) = self.shared.get(base) {
            Operand::Memory { base: None, offset: address + offset }
        } else {
            Operand::Memory { base: Some(self.register(base)), offset }
        }
    }
}
