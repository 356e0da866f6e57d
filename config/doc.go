// Package config is the operator's configuration: one JSON5 file, read
// strictly.
//
// The Go types of this package are the only description of the keys. Their
// struct tags give the name (json), the default, the range (min, max), the
// form (format, keys), whether a key is required, and what it takes to reload
// it (reload); the comment above a field is its documentation. [Keys] turns
// them into a tree, and decoding, defaults, the reload plan, the JSON Schema
// (schema.json) and the reference page (docs/configuration.md) all follow that
// tree. To add a key, add a field with its comment and run go generate.
//
// # Reading
//
// [Find] chooses the file, [Load] reads it, [Parse] takes it from memory. Both
// work in the same steps: JSON5 with positions (package json5), $include,
// strict decoding over the defaults, checks between keys. The error holds every
// problem at once, each with file, line, column, key, what was expected and
// what was found. What is doubtful but usable comes back as warnings, among
// them every key whose part this build does not have (see [Parts]).
//
// To lay one file over another, as conversation tests do, use [ReadTree] or
// [ParseTree], change the trees, json5.Merge them and [Decode] the result.
// Every value keeps the position in its own file.
//
// # Using
//
// Some keys may stand in several places, and the nearest one wins. Readers do
// not look at such keys themselves but ask: [Config.Agent],
// [Config.ThreadBindings], [Config.Queue], [Config.Access], [Config.Reset],
// [Config.UserLimits], [Config.HistoryLimit]. The results hold plain values
// with every default applied; durations are time.Durations there.
//
// Credentials are of type [Secret], which prints as ***. References are read by
// [Config.ResolveSecrets], all or nothing.
//
// # Reloading
//
// [Diff] compares two configurations and says for each changed key what it
// takes to apply it; [Hold] leaves out what has to wait. [Config.Watched] lists
// the files that matter, and package watch tells when they change.
//
// # Looking and changing
//
// [Config.Effective] shows the value in force for a key. [Set] changes one key
// in the text of its file and leaves every other byte alone, [Unset] takes one
// out; [Edit.Write] puts the result in place and keeps the versions before.
// [Lock] keeps other edits waiting meanwhile. [Create] writes a new file.
package config
