// Package archtest holds the architecture of this repository as a test.
//
// It parses every Go file of the module, whatever its build tags, and reports
// what breaks one of these rules:
//
//   - arrows: a package imports only the rooms that the table in rooms.go lets
//     it import, and a package outside every room of the table is an error, so
//     a new room is a decision and not an accident;
//   - contract: package core imports the standard library only;
//   - drivers: database drivers are imported by core/store only;
//   - clock: time passes through core.Clock; the table in clock.go says which
//     functions of time and context are banned and where they are let in;
//   - comment: every package says in a package comment what it is for;
//   - names: no folder is named util, common, helpers or misc;
//   - length: no Go file is longer than [MaxLines] lines;
//   - cgo: nothing imports "C";
//   - dependencies: docs/dependencies.md names every module that is imported
//     directly, and no module that go.mod does not require;
//   - words: what people in chats read comes from core/words; the table in
//     words.go says which other texts the rooms that speak have, and for whom.
//
// The linter (.golangci.yml) repeats arrows and clock, so that an editor shows
// them while typing. This package is the authority: it needs nothing but Go
// and runs with go test ./....
//
// Test code is every _test.go file and the packages in suites: contract suites
// and test servers. It may import a little more and may use wall-clock guards;
// both are spelled out in the tables.
//
// A rule is changed by editing its table here and the matching part of
// .golangci.yml in one commit, with the reason beside the entry.
package archtest
