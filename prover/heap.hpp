// What the heap (glibc's) keeps of freed memory. Every function may be called from several threads at once.
#pragma once

#include <cstddef>

namespace prover {

// For a daemon's main(): what is freed, up to blocks of 32 MiB, stays for the next proof. Memory that is new each time
// cost an eighth of a proof's time: the kernel clears it page by page. Whoever begins what has been reserved calls
// give_back_heap() where the ledger hasn't kept_by_heap() free: so both together stay inside the budget.
void keep_freed_memory();

// Freed memory that the heap keeps, at most: what was given back counts too, until it is used again.
std::size_t kept_by_heap();

// What the heap keeps of freed memory goes back to the system: of all its arenas. Takes milliseconds.
void give_back_heap();

}  // namespace prover
