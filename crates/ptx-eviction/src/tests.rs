//! The solvers against the true optimum of small problems, and against textbook algorithms.

mod brute_force;
mod instance;
mod plain_greedy;
