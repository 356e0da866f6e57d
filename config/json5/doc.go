// Package json5 reads JSON5 into a tree in which every value and every key
// knows where it stands in its file.
//
// The whole of JSON5 is read: comments, trailing commas, unquoted and
// single-quoted keys and strings, hexadecimal numbers, a leading or trailing
// decimal point, an explicit plus sign, line continuations and all escapes.
// Four things that the grammar allows are refused, because in a configuration
// file they are always mistakes: Infinity and NaN, numbers beyond the range of
// a float64, the same key twice in one object, and nesting deeper than
// [MaxDepth].
//
// The tree can be looked into ([Node.Get], [Node.At]), changed
// ([Node.Remove], [Node.Set]) and laid over another one ([Merge]); positions
// survive a merge, so that an error found in the result still names the file
// and line that a person has to edit. Offsets are kept for the start and the
// end of every key and value: an editor that must leave comments untouched can
// splice the source at them.
package json5
