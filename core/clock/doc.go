// Package clock implements core.Clock: Real on the machine's clock, Virtual on
// a clock that only moves when told to. It is the only place in the module
// that may use the timer functions of time and context.
package clock
