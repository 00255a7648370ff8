//! JIT options in the driver's form, with the logs that it writes.

use std::ffi::{c_uint, c_void};
use std::ptr;

use ptx_key::JitOptions;

use crate::JitLog;

/// JIT options in the driver's form, with the logs that it writes.
pub(super) struct RawOptions {
    pub(super) names: Vec<c_uint>,
    pub(super) values: Vec<*mut c_void>,
    /// `values` point into them, so they are never resized.
    error_log: Vec<u8>,
    info_log: Vec<u8>,
}

impl RawOptions {
    const LOG_BYTES: usize = 16 << 10;
    const MAX_REGISTERS: c_uint = 0;
    const INFO_LOG_BUFFER: c_uint = 3;
    const INFO_LOG_BUFFER_SIZE_BYTES: c_uint = 4;
    const ERROR_LOG_BUFFER: c_uint = 5;
    const ERROR_LOG_BUFFER_SIZE_BYTES: c_uint = 6;
    const OPTIMIZATION_LEVEL: c_uint = 7;
    const GENERATE_DEBUG_INFO: c_uint = 11;
    const GENERATE_LINE_INFO: c_uint = 13;

    pub(super) fn new(options: &JitOptions) -> Self {
        let log = || vec![0_u8; Self::LOG_BYTES];
        let mut raw =
            Self { names: Vec::new(), values: Vec::new(), error_log: log(), info_log: log() };
        let (error_log, info_log) = (raw.error_log.as_mut_ptr(), raw.info_log.as_mut_ptr());
        raw.push(Self::ERROR_LOG_BUFFER, error_log.cast());
        raw.push(Self::ERROR_LOG_BUFFER_SIZE_BYTES, number(Self::LOG_BYTES));
        raw.push(Self::INFO_LOG_BUFFER, info_log.cast());
        raw.push(Self::INFO_LOG_BUFFER_SIZE_BYTES, number(Self::LOG_BYTES));
        let JitOptions { optimization_level, max_registers, debug_info, line_info, named: _ } =
            options;
        if let Some(level) = optimization_level {
            raw.push(Self::OPTIMIZATION_LEVEL, number(usize::from(*level)));
        }
        if let Some(registers) = max_registers {
            raw.push(
                Self::MAX_REGISTERS,
                number(usize::try_from(*registers).unwrap_or(usize::MAX)),
            );
        }
        if *debug_info {
            raw.push(Self::GENERATE_DEBUG_INFO, number(1));
        }
        if *line_info {
            raw.push(Self::GENERATE_LINE_INFO, number(1));
        }
        raw
    }

    fn push(&mut self, name: c_uint, value: *mut c_void) {
        self.names.push(name);
        self.values.push(value);
    }

    pub(super) fn count(&self) -> c_uint {
        c_uint::try_from(self.names.len()).unwrap_or(0)
    }

    /// What the driver wrote, errors first.
    pub(super) fn into_log(self) -> JitLog {
        let text = |log: &[u8]| {
            let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
            String::from_utf8_lossy(&log[..end]).into_owned()
        };
        JitLog::new(text(&self.error_log) + "\n" + &text(&self.info_log))
    }
}

/// A number where the driver wants it in place of a pointer.
fn number(value: usize) -> *mut c_void {
    ptr::without_provenance_mut(value)
}
