// Package bench measures the runtime as a whole, each figure next to its
// physical limit in the same run: a bare commit of the same rows on the same
// disk. `make bench` runs it; docs/performance.md has the results.
package bench
